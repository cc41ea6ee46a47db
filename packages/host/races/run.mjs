// The races: so many simultaneous starts (100), then so many changes of owner (500). The exit code is the verdict.
import { raceStarts } from "./starts.mjs";
import { raceStopStart } from "./stop-start.mjs";

const [starts = 100, changes = 500] = process.argv.slice(2).map(Number);

const { winners, refused, other } = await raceStarts(starts);
const started = winners + refused + other.length;
console.log(`starts: executed ${started} of ${starts}, ${winners} won, ${refused} named the winner`, ...other);
const { owned, stopped, violations } = await raceStopStart(changes);
console.log(`owners: executed ${owned} of at least ${changes}, ${stopped} stops, ${violations} violations`);

process.exitCode = winners === 1 && refused === starts - 1 && owned >= changes && violations === 0 ? 0 : 1;
