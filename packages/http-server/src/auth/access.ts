/** Who may call what, by route. A route without a tier does not compile. */
import { routes, type Tier } from "@chimera/acp-schema/http";

export type RouteName = keyof typeof routes;

export const ACCESS = Object.fromEntries(Object.entries(routes).map(([name, { tier }]) => [name, tier])) as Readonly<
  Record<RouteName, Tier>
>;
