// The database of a cluster: a server that is killed and whose standby is promoted in its place. Servers reach it through two cables, one
// for each machine that their address names.
import { connect, createServer } from "node:net";
import { startOwnPostgres } from "@chimera/store-postgres/testing";
import { pause } from "../soak/chance.mjs";

export async function startDatabase(chance, counts) {
  let primary = await startOwnPostgres(process.env);
  let database = await primary.database();
  const name = new URL(database.url).pathname.slice(1);
  const cables = [await startCable(chance, counts), await startCable(chance, counts)];
  let at = 0;
  cables[at].plug(primary.port);
  const hosts = cables.map(({ port }) => `127.0.0.1:${port}`).join(",");

  return {
    address: `postgres://chimera@${hosts}/${name}?target_session_attrs=read-write`,
    /** Asked again while the database is away. */
    async query(statement, ...given) {
      for (;;) {
        try {
          return await database.query(statement, given);
        } catch {
          await pause(50);
        }
      }
    },
    async killFor(ms) {
      await primary.kill();
      await pause(ms);
      await primary.start();
    },
    /** The primary dies for good, and its standby goes on in its place, on the other machine. */
    async promote() {
      const standby = await primary.standby();
      cables[1 - at].plug(standby.port);
      await pause(chance.between(200, 800));
      await primary.kill();
      cables[at].plug(null);
      await standby.promote();
      await primary.stop();
      primary = standby;
      database = await primary.database(name);
      at = 1 - at;
    },
    /** For a while, connections are cut after the server did what it was asked and before its reply arrives: often in an append. */
    async loseReplies(ms) {
      for (const cable of cables) cable.share = 0.2;
      await pause(ms);
      for (const cable of cables) cable.share = 0;
    },
    async stop() {
      for (const cable of cables) cable.close();
      await database.drop();
      await primary.stop();
    },
  };
}

/** What only an append carries: records. */
const RECORD = '"seq":';

async function startCable(chance, counts) {
  let port = null;
  const links = new Set();
  const server = createServer((near) => {
    if (port === null) return near.destroy();
    const far = connect(port, "127.0.0.1");
    let isAppend = false;
    const end = () => {
      links.delete(end);
      near.destroy();
      far.destroy();
    };
    links.add(end);
    for (const socket of [near, far]) socket.setNoDelay().on("error", end).on("close", end);
    near.on("data", (bytes) => {
      isAppend = bytes.includes(RECORD);
      far.write(bytes);
    });
    far.on("data", (bytes) => {
      if (!chance.happens(isAppend ? cable.share : cable.share / 10)) return near.write(bytes);
      if (isAppend) counts.lostReplies += 1;
      end();
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const cable = {
    port: server.address().port,
    /** How many replies to appends are lost, of one. */
    share: 0,
    plug(to) {
      port = to;
      for (const end of links) end();
    },
    close() {
      cable.plug(null);
      server.close();
    },
  };
  return cable;
}
