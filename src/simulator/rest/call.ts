import type { ServiceSettings } from '../settings.ts';
import type { World } from '../world/world.ts';
import type { PageFault } from '../faults/pageFault.ts';
import type { Route } from './route.ts';

/** Everything an answer depends on. */
export interface Call {
  readonly world: World;
  readonly settings: ServiceSettings;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly route: Route;
  /** Scheme, host and port as the client addressed them. */
  readonly origin: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly pageFault: PageFault | undefined;
}
