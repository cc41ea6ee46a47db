#!/usr/bin/env node
import { conversationCommand } from "@chimera/cli";
import { createMain, serveCommands } from "@chimera/host";
import { profile } from "./profile.js";

await createMain(profile, serveCommands(profile.name), { fallback: conversationCommand(profile.name) })(process);
