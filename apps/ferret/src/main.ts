#!/usr/bin/env node
import { tellVersion } from "@chimera/host/version";
import { about } from "./about.js";

if (!tellVersion(about, process)) void import("./program.js").then(({ main }) => main(process));
