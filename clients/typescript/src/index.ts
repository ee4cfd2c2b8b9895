/** Rents GPUs on the Gantry market through a `gantry serve`. */
import createClient, { type Client as Fetcher } from 'openapi-fetch';
import type { components, paths } from './schema.js';

export type { components, paths } from './schema.js';
export type Lease = components['schemas']['Lease'];
export type Offer = components['schemas']['Offer'];
export type OrderRequest = components['schemas']['OrderRequest'];
export type Event = components['schemas']['Event'];
export type ClusterMember = components['schemas']['ClusterMember'];
export type MachineCluster = components['schemas']['MachineCluster'];
export type KeptVolume = components['schemas']['KeptVolume'];
export type Why = components['schemas']['Why'];
type Problem = components['schemas']['Problem'];

/** What the server refuses: what happened, why, and what to do. */
export class GantryError extends Error {
  readonly nextStep: string;
  readonly status: number;

  constructor(detail: string, nextStep = '', status = 0) {
    super(nextStep ? `${detail}; ${nextStep}` : detail);
    this.name = 'GantryError';
    this.nextStep = nextStep;
    this.status = status;
  }
}

/** A variable of the environment, in a runtime that has one. */
function variable(name: string): string | undefined {
  const runtime = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return runtime.process?.env?.[name];
}

function answer<T>(result: { data?: T; error?: unknown; response: Response }): T {
  if (result.data === undefined) {
    const p = result.error as Partial<Problem> | undefined;
    throw new GantryError(p?.detail ?? `the server answers with status ${result.response.status}`, p?.nextStep, result.response.status);
  }
  return result.data;
}

export interface ClusterOptions {
  gpuType: string;
  /** GPUs on each node. */
  gpuCount?: number;
  image?: string;
  region?: string;
  nodes?: number;
  /** How long, seconds; an hour by default. */
  seconds?: number;
  /** The most USDC per GPU-hour; the model's reference price by default. */
  maxPrice?: string;
  command?: string[];
  env?: Record<string, string>;
  network?: 'internet' | 'none';
  /** NAME:SIZE[:PATH], an encrypted file system for the container. */
  volume?: string;
  /** Keep the volume in the server's bucket: the next lease with a volume of this name begins with its files, and needs no size. */
  keep?: boolean;
  runToCompletion?: boolean;
  allowSimulated?: boolean;
  /** Any other field of an order, by its name in the HTTP API, such as { minTops: '300' }. It comes before the options above. */
  order?: Partial<OrderRequest>;
  /** Port of the container which cluster.endpoint() leads to. */
  port?: number;
  /** Names the purchase, and so the cluster: a key that is used again never buys twice. */
  key?: string;
  /** How long to wait until the machines run, milliseconds; a quarter of an hour by default. */
  timeout?: number;
}

/** A gantry serve. */
export class Gantry {
  /** Every operation as the OpenAPI document describes it, typed. */
  readonly api: Fetcher<paths>;
  readonly #url: string;
  readonly #headers: Record<string, string>;

  /** In a browser, which has no environment, both are needed. */
  constructor(url = variable('GANTRY_SERVER'), token = variable('GANTRY_TOKEN')) {
    if (!url || !token) throw new GantryError('there is no server to ask', 'set GANTRY_SERVER and GANTRY_TOKEN to what gantry serve has printed');
    this.#url = url.replace(/\/$/, '');
    this.#headers = { Authorization: `Bearer ${token}` };
    this.api = createClient<paths>({ baseUrl: this.#url, headers: this.#headers });
  }

  /** The nodes that fit the terms of gantry search, the best first. */
  async offers(terms = '', limit = 100): Promise<components['schemas']['Offers']> {
    return answer(await this.api.GET('/v1/offers', { params: { query: { q: terms, limit } } }));
  }

  /** The customer's leases that are not closed, the newest first. */
  async leases(): Promise<Lease[]> {
    return answer(await this.api.GET('/v1/leases')).leases;
  }

  /** Ends a lease; one that is over already is answered as it is. */
  async stop(id: string): Promise<Lease> {
    return answer(await this.api.POST('/v1/leases/{id}/stop', { params: { path: { id } } }));
  }

  /** Why an order waits or is over, or how a lease is or has ended: a reason for programs, and in words. */
  async why(id: string): Promise<Why> {
    return answer(await this.api.GET('/v1/why/{id}', { params: { path: { id } } }));
  }

  /** The volumes that the customer keeps in the server's bucket, by name. */
  async volumes(): Promise<KeptVolume[]> {
    return answer(await this.api.GET('/v1/volumes')).volumes ?? [];
  }

  /** Removes a volume with all its snapshots, which cannot be taken back. It is refused while a lease uses the volume. */
  async deleteVolume(name: string): Promise<KeptVolume> {
    return answer(await this.api.DELETE('/v1/volumes/{name}', { params: { path: { name } } }));
  }

  /** Gives a running lease more time, once for a key. */
  async extend(id: string, seconds: number, key: string = crypto.randomUUID()): Promise<Lease> {
    return answer(await this.api.POST('/v1/leases/{id}/extend', { params: { path: { id }, header: { 'Idempotency-Key': key } }, body: { seconds } }));
  }

  /** Where a port of a lease's container is reached on the server's machine, such as 127.0.0.1:40123, until the lease ends. */
  async endpoint(id: string, port: number): Promise<string> {
    return answer(await this.api.POST('/v1/leases/{id}/forwards', { params: { path: { id } }, body: { port } })).endpoint;
  }

  /** Changes of leases, orders and credits as they come, behind the event with the id `after`, until the signal aborts. */
  async *events(after?: string, signal?: AbortSignal): AsyncGenerator<Event> {
    let last = after;
    for (;;) {
      const headers = { ...this.#headers, ...(last && last !== '0' ? { 'Last-Event-ID': last } : {}) };
      const response = await fetch(`${this.#url}/v1/events${last === '0' ? '?after=0' : ''}`, { headers, signal: signal ?? null });
      if (!response.ok || !response.body) {
        const p = (await response.json()) as Problem;
        throw new GantryError(p.detail, p.nextStep, p.status);
      }
      for await (const e of messages(response.body)) {
        if (e.id) last = e.id;
        if (e.kind === 'gap' || e.kind === 'problem') {
          const p = JSON.parse(e.data) as Partial<Problem>;
          throw new GantryError(p.detail ?? 'the stream broke off', p.nextStep);
        }
        if (e.kind !== 'ready') yield JSON.parse(e.data) as Event;
      }
    }
  }

  /** A cluster with a private network, by its key or its order: state, members and cost. */
  async cluster(id: string): Promise<MachineCluster> {
    return answer(await this.api.GET('/v1/clusters/{id}', { params: { path: { id } } }));
  }

  /** Rents machines, all or none, and resolves when they run. Several with an image have a private network: cluster.members. */
  async createCluster(o: ClusterOptions): Promise<Cluster> {
    const key = o.key ?? crypto.randomUUID();
    const body: OrderRequest = {
      gpu: o.gpuType,
      count: o.gpuCount ?? 1,
      nodes: o.nodes ?? 1,
      seconds: o.seconds ?? 3600,
      ...(o.image ? { image: o.image } : {}),
      ...(o.region ? { region: o.region } : {}),
      ...(o.maxPrice ? { maxPricePerGpuHour: o.maxPrice } : {}),
      ...(o.command?.length ? { command: o.command } : {}),
      ...(o.env ? { env: o.env } : {}),
      ...(o.network ? { network: o.network } : {}),
      ...(o.volume ? { volume: o.volume } : {}),
      ...(o.keep ? { keep: true } : {}),
      ...(o.runToCompletion ? { runToCompletion: true } : {}),
      ...(o.allowSimulated ? { allowSimulated: true } : {}),
      ...o.order,
    };
    const late = Date.now() + (o.timeout ?? 900_000);
    try {
      for (;;) {
        const cluster = body.image && (body.nodes ?? 1) > 1 ? await this.#network(body, key, o.port) : await this.#machines(body, key, o.port);
        if (cluster) return cluster;
        if (Date.now() > late) throw new GantryError('the machines do not run in time', 'call again with the same key');
      }
    } catch (e) {
      throw new GantryError(`${e instanceof Error ? e.message : String(e)} (key ${key}: the same call with it continues and never buys twice)`, '', e instanceof GantryError ? e.status : 0);
    }
  }

  /** Machines without a private network; undefined while they are bought. */
  async #machines(body: OrderRequest, key: string, port?: number): Promise<Cluster | undefined> {
    const order = answer(await this.api.POST('/v1/orders', { params: { header: { 'Idempotency-Key': key } }, body }));
    return order.phase === 'bought' ? new Cluster(this, key, order.order ?? '', order.leases, port) : undefined;
  }

  /** Machines with a private network; undefined while they are bought. */
  async #network(body: OrderRequest, key: string, port?: number): Promise<Cluster | undefined> {
    const now = answer(await this.api.POST('/v1/clusters', { params: { header: { 'Idempotency-Key': key } }, body }));
    if (now.state === 'failed') throw new GantryError(`no machines were bought: ${now.failed}`, 'choose another key');
    if (now.state === 'buying' || now.state === 'starting') return undefined;
    const cluster = new Cluster(this, key, now.order, [], port, now.members);
    await cluster.refresh();
    return cluster;
  }
}

/** Machines that run. `await using` ends their leases. */
export class Cluster {
  constructor(
    readonly gantry: Gantry,
    readonly key: string,
    readonly order: string,
    public leases: Lease[],
    readonly port?: number,
    /** The places of the private network by their number; none without a network. */
    public members: ClusterMember[] = [],
  ) {}

  /**
   * The https address that a gateway has given to node-0. Without one, where the first machine's port is reached on the server's machine, such
   * as 127.0.0.1:40123.
   */
  async endpoint(port = this.port): Promise<string> {
    const open = this.members.length > 0 ? (await this.gantry.cluster(this.order)).endpoint : null;
    if (open) return open;
    const lease = this.members[0]?.lease ?? this.leases[0]?.address;
    if (!port || !lease) throw new GantryError('no port is named', 'name one: createCluster({ port }) or endpoint(port)');
    return this.gantry.endpoint(lease, port);
  }

  /** The leases as they are now, also those that have moved to another machine. */
  async refresh(): Promise<Lease[]> {
    if (this.members.length > 0) this.members = (await this.gantry.cluster(this.order)).members;
    const places = new Set(this.members.map((m) => m.lease));
    this.leases = (await this.gantry.leases()).filter((l) => l.order === this.order || places.has(l.address));
    return this.leases;
  }

  /**
   * Adds machines until `nodes` run, and resolves when they do. They have the job of the others, the places behind theirs, and the time that
   * is left. Only a cluster with a private network can grow.
   */
  async scale(nodes: number): Promise<ClusterMember[]> {
    if (this.members.length === 0) throw new GantryError('the cluster has no private network, and cannot grow', 'order containers on several machines: image and nodes of createCluster');
    for (;;) {
      const now = answer(await this.gantry.api.POST('/v1/clusters/{id}/scale', { params: { path: { id: this.order } }, body: { nodes } })).members ?? [];
      if (now.filter((m) => m.status === 'running').length >= nodes) {
        await this.refresh();
        return this.members;
      }
    }
  }

  /** Ends every lease. It waits for those that have not started, and tries all of them before it throws. */
  async down(timeout = 900_000): Promise<Lease[]> {
    if (this.members.length > 0) {
      for (const late = Date.now() + timeout; ; ) {
        const { left } = answer(await this.gantry.api.DELETE('/v1/clusters/{id}', { params: { path: { id: this.order } } }));
        if (!left?.length) return this.refresh();
        if (Date.now() > late) throw new GantryError(`leases are not ended: ${left.join('; ')}`, `end them with gantry cluster down ${this.order}`);
      }
    }
    const now = await this.refresh();
    const all = await Promise.allSettled(now.map((l) => this.gantry.stop(l.address)));
    const failed = all.flatMap((r, i) => (r.status === 'rejected' ? [`${now[i]?.address}: ${String(r.reason)}`] : []));
    if (failed.length > 0) throw new GantryError(`leases are not ended and are billed: ${failed.join(', ')}`, 'stop them with gantry stop LEASE');
    this.leases = all.flatMap((r) => (r.status === 'fulfilled' ? [r.value] : []));
    return this.leases;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
  }
}

interface Message {
  kind: string;
  id: string;
  data: string;
}

/** Server-sent events of a body. */
async function* messages(body: ReadableStream<Uint8Array>): AsyncGenerator<Message> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  let m: Message = { kind: '', id: '', data: '' };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line === '' && m.data) {
          yield m;
          m = { kind: '', id: '', data: '' };
        } else if (line.startsWith('event: ')) m.kind = line.slice(7);
        else if (line.startsWith('id: ')) m.id = line.slice(4);
        else if (line.startsWith('data: ')) m.data = line.slice(6);
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
