import type { CallObserver } from '../api/observer.ts';
export class Telemetry {
  constructor(_: unknown) {}
  observer(_: string): CallObserver { return { started() {}, ended() {}, failed() {}, retried() {} }; }
  reloaded(_: boolean, __: number) {}
  keepAccounts(_: string[]) {}
  scraped(_: string) {}
  own(_: unknown) { return () => []; }
}
