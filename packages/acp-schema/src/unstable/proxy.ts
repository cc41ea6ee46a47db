/** Programs that sit between a client and an agent. */
import * as v from "valibot";
import { object } from "../define/shape.js";
import { InitializeRequest, InitializeResponse } from "./initialize.js";

export const InitializeProxyRequest = InitializeRequest;
export const InitializeProxyResponse = InitializeResponse;

const forwarded = () => ({ method: v.string(), params: v.optional(v.unknown()) });

/** A request for the next one in the chain. */
export const ProxySuccessorRequest = object(forwarded);
export const ProxySuccessorResponse = v.unknown();
export const ProxySuccessorNotification = object(forwarded);
