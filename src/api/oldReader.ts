import type { CallOptions } from './reader.ts';
import type { Application, Host, Instance, KeyTransaction, MetricData, MetricName } from './types.ts';

export interface MetricNameQuery {
  readonly applicationId: number;
  readonly hostKey?: string;
  /** Upstream's own substring filter. */
  readonly name?: string;
  /** Stops after this many pages; `complete` then says false. */
  readonly maxPages?: number;
  /** Called after each page with the number of pages and of names read so far. */
  readonly onPage?: (pages: number, names: number) => void;
}

export interface MetricDataQuery {
  readonly applicationId: number;
  readonly hostKey?: string;
  readonly names: readonly string[];
  /** Unix times in seconds, whole minutes. */
  readonly from: number;
  readonly to: number;
  /** True: one timeslice over the whole range. */
  readonly summarize: boolean;
  /** Seconds per timeslice; only coarser than the granule of the range. */
  readonly period?: number;
}

/**
 * The upstream service as the collector sees it. An interface, because the vendor ends REST v2 on 31 July 2027 and a
 * second reader will have to give the same values. Every method rejects with an UpstreamError (errors.ts).
 */
export interface UpstreamReader {
  /** All pages; `ids` narrows to those (`filter[ids]`); `links: false` asks for no host and instance ids. */
  listApplications(query: { ids?: readonly number[] }, call: CallOptions): Promise<Application[]>;
  readApplication(id: number, call: CallOptions): Promise<Application>;
  listKeyTransactions(query: { ids?: readonly number[] }, call: CallOptions): Promise<KeyTransaction[]>;
  readKeyTransaction(id: number, call: CallOptions): Promise<KeyTransaction>;
  listHosts(applicationId: number, call: CallOptions): Promise<Host[]>;
  listInstances(applicationId: number, call: CallOptions): Promise<Instance[]>;
  listMetricNames(query: MetricNameQuery, call: CallOptions): Promise<{ names: MetricName[]; complete: boolean }>;
  readMetricData(query: MetricDataQuery, call: CallOptions): Promise<MetricData>;
  /** Closes kept connections; calls in flight are aborted. */
  close(): Promise<void>;
}
