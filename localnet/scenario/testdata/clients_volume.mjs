// Keeps a volume by the TypeScript client, and deletes it when its lease is over.
// usage: clients_volume.mjs CLIENT IMAGE, where CLIENT is the built index.js
import assert from 'node:assert/strict';

const { Gantry } = await import(process.argv[2]);
const g = new Gantry();
const cluster = await g.createCluster({
  gpuType: 'A100', seconds: 600, maxPrice: '3', image: process.argv[3], network: 'none', volume: 'more:16MiB', keep: true, command: ['put=/more/x,kept ', 'wait'], allowSimulated: true,
});
try {
  const [volume] = await g.volumes();
  assert.deepEqual([volume.name, volume.sizeMiB], ['more', 16]);
  assert.equal(volume.usedBy.lease, cluster.leases[0].address);
  await assert.rejects(g.deleteVolume('more'), /in use/);
} finally {
  await cluster.down();
}
for (let tries = 0; ; tries++) {
  try {
    assert.equal((await g.deleteVolume('more')).name, 'more');
    break;
  } catch (e) {
    if (tries === 600 || !/in use/.test(e.message)) throw e; // the last snapshot takes a moment
    await new Promise((done) => setTimeout(done, 200));
  }
}
assert.deepEqual(await g.volumes(), []);
console.log('ok');
