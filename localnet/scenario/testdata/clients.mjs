// Uses the TypeScript client against a running gantry serve: rents machines, extends and ends their leases.
// usage: clients.mjs CLIENT NODES, where CLIENT is the built index.js
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

const { Gantry, GantryError } = await import(process.argv[2]);
const nodes = Number(process.argv[3]);
const g = new Gantry();
const offers = await g.offers('gpu=A100 simulated', 1);
assert.equal(offers.offers.length, 1);
assert.ok(offers.fit >= nodes);

const stop = new AbortController();
const ended = new Set();
const watching = (async () => {
  for await (const e of g.events('0', stop.signal)) {
    if (e.kind === 'lease' && e.lease?.status === 'ended') ended.add(e.address);
  }
})().catch((e) => {
  if (!stop.signal.aborted) throw e;
});

const asked = { gpuType: 'A100', nodes, seconds: 300, maxPrice: '1.60', command: ['sleep', '300'], allowSimulated: true, key: `node-${randomUUID()}` };
const cluster = await g.createCluster(asked);
const again = await g.createCluster(asked);
assert.deepEqual(again.leases.map((l) => l.address).sort(), cluster.leases.map((l) => l.address).sort(), 'bought twice');
assert.equal(cluster.leases.length, nodes);
const key = randomUUID();
const first = cluster.leases[0];
const longer = await g.extend(first.address, 60, key);
assert.equal(longer.fundedUntil, first.fundedUntil + 60);
assert.equal((await g.extend(first.address, 60, key)).fundedUntil, longer.fundedUntil);
await cluster[Symbol.asyncDispose]();
assert.ok(cluster.leases.every((l) => l.status === 'ended'));
for (let i = 0; i < 300 && !cluster.leases.every((l) => ended.has(l.address)); i++) await new Promise((r) => setTimeout(r, 200));
assert.ok(cluster.leases.every((l) => ended.has(l.address)), 'an event is missing');
assert.equal((await g.why(first.address)).reason, 'stopped');
stop.abort();
await watching;
await assert.rejects(g.createCluster({ ...asked, seconds: 30_000_000, key: randomUUID() }), (e) => e instanceof GantryError && (e.status === 400 || e.status === 409));
console.log('ok');
