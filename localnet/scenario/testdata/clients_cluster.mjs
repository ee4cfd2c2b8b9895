// Rents a cluster by the TypeScript client, reads at its endpoint what node-0 has read of node-1, and ends the cluster.
// usage: clients_cluster.mjs CLIENT IMAGE, where CLIENT is the built index.js
import assert from 'node:assert/strict';

const { Gantry } = await import(process.argv[2]);
// Each container serves its rank in the private network. On its own address it shows what it has read of node-1.
const serve = `mkdir /www /seen; echo "rank $GANTRY_NODE_RANK" >/www/index.html; httpd -p $GANTRY_NODE_IP:8080 -h /www
while ! /bin/busybox timeout 5 /bin/busybox wget -q -O /seen/index.html http://node-1:8080/; do sleep 1; done; httpd -f -p 127.0.0.1:8081 -h /seen`;

async function page(endpoint) {
  for (let tries = 0; ; tries++) {
    try {
      const r = await fetch(`http://${endpoint}/index.html`);
      if (r.ok) return await r.text();
      throw new Error(`status ${r.status}`);
    } catch (e) {
      if (tries === 200) throw e; // the containers begin a little later than their leases
      await new Promise((done) => setTimeout(done, 300));
    }
  }
}

const g = new Gantry();
const cluster = await g.createCluster({
  gpuType: 'A100', nodes: 2, seconds: 600, maxPrice: '3', image: process.argv[3], network: 'none', command: ['/bin/sh', '-c', serve], allowSimulated: true, port: 8081,
});
try {
  assert.deepEqual(cluster.members.map((m) => [m.host, m.address]), [['node-0', '10.77.0.1'], ['node-1', '10.77.0.2']]);
  assert.equal(await page(await cluster.endpoint()), 'rank 1\n');
  assert.deepEqual((await cluster.scale(3)).map((m) => m.host), ['node-0', 'node-1', 'node-2']);
} finally {
  await cluster.down();
}
assert.ok(cluster.leases.length === 3 && cluster.leases.every((l) => l.status === 'ended'));
assert.equal((await g.cluster(cluster.key)).state, 'ended');
console.log('ok');
