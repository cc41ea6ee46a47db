#!/usr/bin/env node
import { cliCommands, conversationCommand } from "@chimera/cli";
import { createMain, serveCommands } from "@chimera/host";
import { bridgeCommand } from "./bridge/command.js";
import { profile } from "./profile.js";

const { name } = profile;
const server = [...serveCommands(name), bridgeCommand(name)];
await createMain(profile, [...server, ...cliCommands(name, server)], { fallback: conversationCommand(name) })(process);
