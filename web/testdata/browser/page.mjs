// Tries the page in a browser, as a person would, against a running `gantry serve` on a local network: sign in, look at
// the offers, order, reload meanwhile, watch the lease, stop it. Every view is looked over by axe-core in light and dark, and
// shown with hostile texts in place of all that the chain says.
//
// usage: node page.mjs CHROMIUM LINK TOKEN_FILE [FOLDER]; FOLDER takes screenshots.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { begin, heading, open } from './lib.mjs';

const [executablePath, link, tokenFile, folder] = process.argv.slice(2);
const origin = new URL(link).origin;
const { tab, shot, look, step, end } = await begin(executablePath, origin, folder);

// The link signs in once.
const page = await tab();
const orders = [];
page.on('request', (r) => r.method() === 'POST' && r.url().endsWith('/v1/orders') && orders.push(r.headers()['idempotency-key']));
await page.goto(link);
await page.getByRole('row', { name: /A100/ }).first().waitFor();
assert.equal(new URL(page.url()).hash, '#/market', 'the code is not in the address any more');
assert.equal((await page.context().cookies()).length, 0);
assert.equal(await page.evaluate(() => localStorage.length), 0);
await page.goto(`${origin}/#/status`);
await page.goto(link);
await heading(page, 'Market'); // who is signed in already stays so, though the link is used
step('signed in');

const other = await tab();
await other.goto(link);
await heading(other, 'Sign in');
await other.getByRole('alert').getByText('is used, or older than').waitFor();
await look(other, 'sign in');
await other.getByLabel('Token of the server').fill('gantry_wrong');
await other.keyboard.press('Enter');
await other.getByRole('alert').getByText('the token is not one of this server').waitFor();
await other.getByLabel('Token of the server').fill(readFileSync(tokenFile, 'utf8').trim());
await other.keyboard.press('Enter');
await heading(other, 'Market');
await other.getByRole('button', { name: 'Sign out' }).click();
await heading(other, 'Sign in');
await other.context().close();
step('the link is good once; the token signs in as well');

// The market: what the API says, sorted and filtered.
const price = async () => page.locator('.offers tbody tr td.number:nth-child(2)').allTextContents();
await page.getByRole('columnheader', { name: /^Price/ }).getByRole('button').click();
assert.equal(await page.getByRole('columnheader', { name: /^Price/ }).getAttribute('aria-sort'), 'ascending');
assert.deepEqual(await price(), (await price()).toSorted((a, b) => a - b));
assert.ok(await page.locator('tbody .simulated').count() > 0, 'simulated machines are marked');
await page.getByRole('region', { name: 'Regions' }).getByRole('row', { name: /us-west-2/ }).waitFor();
await page.getByText('What a tier means').click();
await page.getByText('Tier 3', { exact: true }).waitFor();
await page.getByText('What a tier means').click();
// What the server has noted down of the market: use by all, prices by model.
await page.locator('.bars span').first().waitFor();
await page.getByLabel('GPU of the charts').selectOption({ index: 1 });
await page.getByText('Median ask', { exact: false }).first().waitFor();
await look(page, 'market');
await shot(page, 'market');
await page.getByLabel('GPUs', { exact: true }).selectOption('real');
await page.getByText(/^0 nodes fit; not these: .*simulated or not/).waitFor();
await page.getByLabel('GPUs', { exact: true }).selectOption('all');
await page.getByLabel('At most, USDC per GPU-hour').fill('cheap');
await page.getByRole('alert').getByText('Next: terms:').waitFor();
await page.getByLabel('At most, USDC per GPU-hour').fill('');
await page.getByRole('row', { name: /A100/ }).first().waitFor();
step('market');

await open(page, 'Status');
await page.getByText('This is a network for tests').waitFor();
await page.getByText('no lease to tell it by').waitFor(); // no number is made up
await look(page, 'status');

// Functions of the form, on their own.
const pure = await page.evaluate(async () => {
  const { words, environment } = await import('/page/views/order.js');
  const { amount, cost, micro } = await import('/page/show.js');
  const fails = (f) => { try { f(); return ''; } catch (e) { return e.message; } };
  return {
    words: words(`sh -c 'echo "a  b"' "" x\\ y "q\\"r"`), none: words('  '), open: fails(() => words(`sh 'x`)), env: environment('A=1\n\n B=x=y \nC='), bad: fails(() => environment('=1')),
    cost: amount(cost(micro('1.60'), 8, 601)), micro: [micro('1e3'), micro('-1'), micro('1.1234567')].map(String), amount: [amount(0n), amount(1n), amount(25_500_000n)],
  };
});
assert.deepEqual(pure, {
  words: ['sh', '-c', 'echo "a  b"', '', 'x y', 'q"r'], none: [], open: "the command has an open '", env: { A: '1', B: 'x=y ', C: '' }, bad: 'the environment has a line without a name and "=": =1',
  cost: '2.136888', micro: ['null', 'null', 'null'], amount: ['0.00', '0.000001', '25.50'],
});

// An order that the market refuses: the error is shown as it is.
await open(page, 'Order');
await look(page, 'order');
const fill = async (hours, cap) => {
  await page.getByLabel('GPU', { exact: true }).selectOption({ index: 0 });
  await page.getByLabel('For how long').fill(hours);
  await page.getByLabel('Unit of the time').selectOption('3600');
  await page.getByLabel('At most, USDC per GPU-hour').fill(cap);
  await page.getByLabel('Command').fill("sh -c 'sleep 600'");
  await page.getByLabel('Simulated GPUs too').check();
};
await fill('1000', '4');
await page.getByRole('button', { name: 'Go on' }).click();
await page.getByRole('dialog').getByText('4000.00 USDC').waitFor();
await page.getByRole('button', { name: 'Buy' }).click();
await page.getByRole('alert').getByText('order refused: 4000.00 USDC needed').waitFor();
assert.equal(await page.evaluate(() => sessionStorage.getItem('gantry.purchase')), null);
step('a refused order');

// One that is bought, with a reload while it is under way.
await open(page, 'Order');
await fill('0.5', '1.60');
await page.getByText('More terms and limits').click(); // from the API's document
await page.getByLabel('Memory MiB').fill('256');
await page.getByLabel('Nodes').fill('2');
await page.getByRole('button', { name: 'Go on' }).click();
await page.getByRole('dialog').getByText('1.60 USDC').first().waitFor(); // for two machines
await page.getByRole('dialog').getByText('Memory MiB').waitFor();
await page.keyboard.press('Escape');
await page.getByRole('dialog').waitFor({ state: 'detached' });
await page.getByLabel('Nodes').fill('');
await page.getByRole('button', { name: 'Go on' }).click();
await page.getByRole('dialog').getByText('0.80 USDC').waitFor();
await look(page, 'confirmation');
await shot(page, 'order');
await page.keyboard.press('Escape');
await page.getByRole('dialog').waitFor({ state: 'detached' });
await page.getByRole('button', { name: 'Go on' }).click();
// The server gets the first request; its answer never comes to the page, which is loaded anew meanwhile.
const first = new Promise((resolve) => {
  page.route(`${origin}/v1/orders`, (route) => resolve(route.fetch({ timeout: 60_000 })), { times: 1 });
});
await page.getByRole('button', { name: 'Buy' }).click();
await heading(page, 'Purchase');
const answer = first.then((res) => res.json());
await Promise.race([answer, page.waitForTimeout(300)]);
await page.reload();
await heading(page, 'Lease', 60_000); // a machine that is busy starts late
await page.locator('.state-running').waitFor();
const sent = orders.slice(1); // after the refused one
assert.equal(new Set(sent).size, 1, 'one key for a purchase');
assert.ok(sent.length >= 2, 'the reload has repeated the request');
const listed = await page.evaluate(async () => (await (await import('/page/api.js')).get('/v1/leases')).leases);
assert.equal(listed.length, 1, 'one lease for a purchase');
assert.equal(listed[0].status, 'running');
assert.equal((await answer).leases[0]?.address ?? listed[0].address, listed[0].address, 'both requests are answered with it');
await look(page, 'lease');
step('a lease runs');

await open(page, 'Leases');
const row = page.getByRole('row', { name: /running/ });
await row.waitFor();
await look(page, 'leases');
await shot(page, 'leases');
await row.getByRole('button', { name: /^Stop/ }).click();
await page.getByRole('dialog').getByText('Comes back to the credits').waitFor();
await page.getByRole('button', { name: 'Let it run' }).click();
assert.equal(await row.count(), 1);
await row.getByRole('button', { name: /^Stop/ }).click();
await look(page, 'stop');
await page.route('**/stop', (route) => route.fulfill({
  status: 504, contentType: 'application/problem+json', body: JSON.stringify({ title: 'Gateway Timeout', status: 504, detail: 'the cluster has not answered', nextStep: 'try again' }),
}), { times: 1 });
await page.getByRole('button', { name: 'Stop the lease' }).click();
await page.getByRole('alert').getByText('the cluster has not answered').waitFor();
await page.waitForResponse(`${origin}/v1/leases`);
await page.getByRole('alert').getByText('the cluster has not answered').waitFor();
await row.getByRole('button', { name: /^Stop/ }).click();
await page.getByRole('button', { name: 'Stop the lease' }).click();
await page.getByText('ended (by customer)').waitFor();
assert.equal(await page.getByRole('button', { name: /^Stop/ }).count(), 0);
step('it is stopped');

// Hostile texts in every place: they are shown as they are, and make nothing.
const hostile = `<img src=x onerror=alert(1)><b class="evil">&lt;"'\u202E javascript:alert(1)`;
const poison = (v) => {
  if (Array.isArray(v)) return v.map((x) => poison(x));
  if (v && typeof v === 'object') return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, poison(x)]));
  return typeof v === 'string' ? hostile : v;
};
const poisoned = new RegExp(`^${origin}/(v1/|page/(about|funds|keepers))`);
await page.route(poisoned, async (route) => {
  try {
    const res = await route.fetch();
    await route.fulfill({ response: res, json: poison(await res.json()) });
  } catch { /* the page is loaded anew, and asks again */ }
});
for (const hash of ['market', 'order', 'deploy', 'leases', 'provider', `machine/${listed[0].node}`, 'wallet', 'keepers', 'status', `lease/${listed[0].address}`, `audit/${listed[0].address}`, `slash/${listed[0].node}`]) {
  await page.goto(`${origin}/#/${hash}`);
  await page.reload();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForFunction((text) => document.querySelector('main').textContent.includes(text), hostile);
  assert.equal(await page.locator('main img, main b, main script, main .evil, main iframe').count(), 0, hash);
  assert.equal(await page.locator('main a:not([href^="#/"])').count(), 0, hash);
}
await page.unroute(poisoned);
await page.route(`${origin}/v1/market`, (route) => route.fulfill({
  status: 502, contentType: 'application/problem+json', body: JSON.stringify({ title: hostile, status: 502, detail: hostile, nextStep: hostile, errors: [{ message: hostile, location: hostile }] }),
}));
await page.goto(`${origin}/#/market`);
await page.reload();
await page.getByRole('alert').getByText(hostile).first().waitFor();
assert.equal(await page.locator('main img, main b').count(), 0);
step('hostile texts');

// A narrow screen has no need to scroll sideways, but within tables.
await page.unroute(`${origin}/v1/market`);
const phone = await tab({ viewport: { width: 360, height: 640 } });
await phone.goto(`${origin}/`);
await heading(phone, 'Sign in');
await phone.getByLabel('Token of the server').fill(readFileSync(tokenFile, 'utf8').trim());
await phone.keyboard.press('Enter');
await heading(phone, 'Market');
const views = ['market', 'order', 'order?template=vllm', 'deploy', 'deployments', 'leases', `lease/${listed[0].address}`, 'provider', `machine/${listed[0].node}`, 'wallet', `audit/${listed[0].address}`, 'keepers', 'status'];
for (const width of [360, 390, 768, 1920]) {
  await phone.setViewportSize({ width, height: 800 });
  for (const hash of views) {
    await phone.goto(`${origin}/#/${hash}`);
    await phone.reload();
    await phone.locator('main h1').waitFor();
    assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${hash} is too wide for ${width}`);
    if (width === 390) await shot(phone, `narrow-${hash.replace(/\W.*/, '')}`, true);
  }
}

await end();
