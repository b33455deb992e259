/** A command ended with this exit status (contract 1); what was to be said has been said. */
export class ExitStatus extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`exit status ${status}`);
    this.status = status;
  }
}
