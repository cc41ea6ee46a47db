#!/usr/bin/env node
import { createMain, serveCommands } from "@chimera/host";
import { profile } from "./profile.js";

await createMain(profile, serveCommands(profile.name))(process);
