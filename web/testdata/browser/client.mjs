// Uses the package gantry-market in a page of another origin than a running `gantry serve`, as an application of somebody's would: looks at
// offers, rents a machine, sees its events, ends it. The same page on an origin that the server does not allow gets nothing.
//
// usage: node client.mjs CHROMIUM ALLOWED OTHER SERVER TOKEN_FILE
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

const [executablePath, allowed, other, server, tokenFile] = process.argv.slice(2);
const token = readFileSync(tokenFile, 'utf8').trim();
const browser = await chromium.launch({ executablePath, args: process.getuid() === 0 ? ['--no-sandbox'] : [] });

async function inPage(origin, what) {
  const page = await browser.newPage();
  const said = [];
  page.on('pageerror', (e) => said.push(String(e)));
  await page.goto(origin);
  const result = await page.evaluate(what, [server, token]);
  assert.deepEqual(said, []);
  await page.close();
  return result;
}

try {
  const rented = await inPage(allowed, async ([server, token]) => {
    const { Gantry, GantryError } = await import('gantry-market');
    let lacks;
    try {
      new Gantry();
    } catch (e) {
      lacks = e instanceof GantryError && e.nextStep;
    }
    const gantry = new Gantry(server, token);
    const offers = await gantry.offers('gpu=A100 simulated', 1);
    const stop = new AbortController();
    const ended = (async () => {
      for await (const e of gantry.events('0', stop.signal)) if (e.kind === 'lease' && e.lease?.status === 'ended') return e.address;
    })();
    const cluster = await gantry.createCluster({ gpuType: 'A100', seconds: 300, maxPrice: '1.60', command: ['sleep', '300'], allowSimulated: true });
    await cluster.down();
    const seen = await ended;
    stop.abort();
    const refused = await gantry.why('11111111111111111111111111111111').catch((e) => e.status);
    return { lacks, offers: offers.offers.length, lease: cluster.leases[0].address, status: cluster.leases[0].status, seen, refused };
  });
  assert.match(rented.lacks, /GANTRY_SERVER/);
  assert.equal(rented.offers, 1);
  assert.equal(rented.status, 'ended');
  assert.equal(rented.seen, rented.lease);
  assert.ok(rented.refused >= 400, 'a page reads errors too');

  const kept = await inPage(other, async ([server, token]) => {
    const { Gantry } = await import('gantry-market');
    return new Gantry(server, token).leases().then(() => 'answered', (e) => e.name);
  });
  assert.equal(kept, 'TypeError', 'a page of another origin reads an answer');
} finally {
  await browser.close();
}
console.log('ok');
