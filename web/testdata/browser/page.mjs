// Tries the page in a browser, as a person would, against a running `gantry serve` on a local network: sign in, look at
// the offers, order, reload meanwhile, watch the lease, stop it. Every view is looked over by axe-core in light and dark, and
// shown with hostile texts in place of all that the chain says.
//
// usage: node page.mjs CHROMIUM LINK TOKEN_FILE [FOLDER]; FOLDER takes screenshots.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { hostile, poisoned } from './hostile.mjs';
import { advanced, begin, deploy, heading, open } from './lib.mjs';

const [executablePath, link, tokenFile, folder] = process.argv.slice(2);
const origin = new URL(link).origin;
const { tab, copies, shot, look, step, end } = await begin(executablePath, origin, folder);

// The link signs in once.
const page = await tab();
const orders = [];
page.on('request', (r) => r.method() === 'POST' && r.url().endsWith('/v1/orders') && orders.push(r.headers()['idempotency-key']));
await page.goto(link);
await page.getByRole('row', { name: /A100/ }).first().waitFor();
assert.equal(new URL(page.url()).hash, '#/market', 'the code is not in the address any more');
assert.equal((await page.context().cookies()).length, 0);
assert.equal(await page.evaluate(() => localStorage.length), 0);
await page.goto(`${origin}/#/network`);
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

// The market: what the API says, sorted, searched and filtered.
const rows = page.locator('.offers tbody tr');
const sorted = page.waitForResponse((r) => r.url().includes('/v1/offers') && r.url().includes('sort=tops-price'));
await page.getByLabel('Sort').selectOption({ label: 'TOPS per $' });
await sorted;
await page.getByLabel('Sort').selectOption({ label: 'Best value' });
await rows.first().waitFor();
assert.ok(await page.locator('tbody .simulated').count() > 0, 'simulated machines are marked');
await page.getByRole('list', { name: 'Regions' }).getByText('us-west-2').waitFor();
// The map leads to the machines of a region, and back to all; so does the list, by keys. What has no known place is named.
const regions = page.getByRole('list', { name: 'Regions' });
const everywhere = await rows.count();
const narrowed = page.waitForResponse((r) => r.url().includes('/v1/offers') && r.url().includes('region%3Dus-west-2'));
await page.locator('.map [data-region="us-west-2"] .hit').click();
const inRegion = (await (await narrowed).json()).offers;
assert.ok(inRegion.length > 0 && inRegion.every((o) => o.region === 'us-west-2'), 'the dot has asked for its region');
await page.locator('.word', { hasText: 'Region us-west-2' }).waitFor();
await page.waitForFunction((n) => document.querySelectorAll('.offers tbody tr').length === n, inRegion.length);
await regions.getByRole('button', { name: 'us-west-2', pressed: true }).press('Enter');
await page.waitForFunction((n) => document.querySelectorAll('.offers tbody tr').length === n, everywhere);
assert.equal(await page.locator('.word').count(), 0, 'the region is not searched for any more');
await regions.getByRole('button', { name: 'us-west-2', pressed: false }).waitFor();
await page.getByText('Regions are claims of the machines’ owners.').waitFor();
assert.equal(await page.getByText('Not on the map').count(), 0);
const moved = async (route) => {
  const response = await route.fetch();
  const json = await response.json();
  for (const o of json.offers.filter((o) => o.region === 'us-west-2')) o.region = 'atlantis 7';
  await route.fulfill({ response, json });
};
await page.route('**/v1/offers?*', moved);
await page.getByText('Not on the map: atlantis 7.').waitFor();
assert.equal(await page.locator('.map [data-region="atlantis 7"]').count(), 0, 'no place is made up');
await regions.getByRole('button', { name: 'atlantis 7' }).click();
await page.getByText(/^No machine fits\. Not these: .*other region/).waitFor(); // the server has no such machine
await page.unrouteAll({ behavior: 'wait' });
await page.locator('.word', { hasText: 'Region atlantis' }).getByRole('button').click();
await page.locator('.map [data-region="us-west-2"]').waitFor();
const placed = await page.evaluate(async () => {
  const { placeOf } = await import('/page/views/regions.js');
  return Object.fromEntries(['us-west-2', ' US West ', 'eu-central-9', 'Frankfurt', 'de', 'atlantis', '', 'constructor', 'eu'].map((name) => [name, placeOf(name)]));
});
assert.deepEqual(placed, {
  'us-west-2': [-120, 46], ' US West ': [-120, 41], 'eu-central-9': [10, 50], Frankfurt: [9, 50], de: [10, 51], atlantis: null, '': null, constructor: null, eu: null,
});
await page.getByText('What a tier means').click();
await page.getByText('Tier 3', { exact: true }).waitFor();
await page.getByText('What a tier means').click();
// What the server has noted down of the market.
await page.locator('.uplot').or(page.getByText('too little for a chart yet')).first().waitFor();
await look(page, 'market');
await shot(page, 'market');
await page.getByRole('button', { name: 'Real GPUs' }).click();
await page.getByText(/^No machine fits\. Not these: .*simulated or not/).waitFor();
await page.getByRole('button', { name: 'Real GPUs' }).click();
await rows.first().waitFor();
// Words of people become terms.
const q = page.getByLabel('Search GPUs');
await page.keyboard.press('/');
assert.ok(await q.evaluate((e) => e === document.activeElement), '/ leads to the search');
await q.fill('1 × A100 under $9');
await page.keyboard.press('Enter');
await page.locator('.word', { hasText: 'Price < $9' }).waitFor();
await page.locator('.word', { hasText: 'A100' }).waitFor();
await rows.first().waitFor();
await q.fill('price<=cheap');
await page.keyboard.press('Enter');
await page.getByRole('alert').getByText('Next: terms:').waitFor();
while (await page.locator('.word button').count()) await page.locator('.word button').first().click();
await page.getByRole('row', { name: /A100/ }).first().waitFor();
step('market');

// Keys go to views, but letters that are typed stay letters.
await q.fill('');
await q.press('d');
assert.equal(await q.inputValue(), 'd');
await q.fill('');
await page.locator('h1').first().evaluate((e) => e.focus());
for (const [then, name] of [['l', 'Leases'], ['a', 'Audit'], ['m', 'Market'], ['d', 'Deploy']]) {
  await page.keyboard.press('g');
  await page.keyboard.press(then);
  await heading(page, name);
}
await page.keyboard.press('?');
await page.getByRole('dialog', { name: 'Keys' }).waitFor();
await page.keyboard.press('Escape');
await page.getByRole('dialog').waitFor({ state: 'detached' });
await page.keyboard.press('g');
await page.keyboard.press('m');
await heading(page, 'Market');
await page.keyboard.press('d');
await heading(page, 'Deploy');
step('keys');

// The palette and the theme.
await page.keyboard.press('Control+k');
await page.getByRole('dialog').getByRole('combobox').fill('keep');
await page.getByRole('option', { name: /Keepers/ }).waitFor();
await page.keyboard.press('Enter');
await heading(page, 'Keepers');
await page.getByRole('button', { name: 'Light or dark' }).click();
assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
await page.getByRole('button', { name: 'Light or dark' }).click();
await page.evaluate(() => {
  localStorage.clear();
  delete document.documentElement.dataset.theme;
});

// What machines say of an image is beside the price once nobody types, without a change of the best machine.
await open(page, 'Deploy');
await page.getByLabel('Simulated GPUs too').evaluate((e) => { e.closest('details').open = true; });
await page.getByLabel('Simulated GPUs too').check();
const records = { machinesAsked: 3, machinesAnswered: 3, machinesTried: 3, machinesRan: 2, owners: 1, says: 'ran on 2 of 3 machines' };
let told = records;
await page.route(/\/v1\/offers\?.*image=/, (route) => route.fulfill({ json: { offers: [], fit: 0, unfit: {}, at: 0, image: told } }));
const question = page.waitForRequest(/\/v1\/offers\?.*image=/);
await page.getByLabel('Image', { exact: true }).fill('registry.example/x');
await page.getByText('This image ran on 2 of 3 machines, of those that fit.').waitFor();
assert.match(new URL((await question).url()).searchParams.get('q'), /price<=/);
told = { ...records, machinesRan: 0, fails: true, says: 'failed on driver 595.x: 3 of 3' };
await page.getByLabel('Image', { exact: true }).fill('registry.example/y');
await page.getByText('This image failed on driver 595.x: 3 of 3, of machines that fit, of 1 owner.').waitFor();
await look(page, 'deploy with an image that fails');
await page.getByLabel('Image', { exact: true }).fill('');
assert.equal(await page.getByText('This image').count(), 0);
await page.unrouteAll({ behavior: 'wait' });

await open(page, 'Network');
await page.getByText('This is a network for tests').waitFor();
await page.getByText('no lease to tell it by').waitFor(); // no number is made up
await look(page, 'network');

// Functions of the form, on their own.
const pure = await page.evaluate(async () => {
  const { words, environment } = await import('/page/views/request.js');
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

// Formats: one function each, with spaces that do not break.
const written = await page.evaluate(async () => {
  const f = await import('/page/show.js');
  const { read } = await import('/page/views/search.js');
  const { leaseMoney, texts } = await import('/page/money.js');
  return {
    dollars: ['0', '0.000001', '0.009999', '0.01', '1.98', '3412.4', '1234567.891'].map(f.dollars), exact: ['1.98', '10.3125', '0.000001'].map(f.exact), three: [0, 71.94, 1041.2, 3.2, 956].map(f.three),
    percent: [0, 0.4, 93.4, 101].map(f.percent), uptime: ['99.98', '100'].map(f.uptime), memory: [81_920, 1_887_437].map(f.memory), span: [0, 48, 119, 120, 3600, 11_520, 187_200].map(f.span), line: [f.line(3800, 2100), f.line(940, 910)],
    at: f.at(1_795_791_004), read: ['8 × H100 in Europe under $2.20', 'attested H200', '80 GiB under $1.50', 'gpu=A100 count>=2', '24 GiB in us-west-2 with NVLink'].map(read),
    money: texts(leaseMoney({ costAtMost: '1.58', paid: '1.49', feeIncluded: '0.1788', reserved: '6.6088' })),
  };
});
assert.deepEqual(written, {
  dollars: ['$0.00', '<\u00a0$0.01', '<\u00a0$0.01', '$0.01', '$1.98', '$3,412.40', '$1,234,567.89'], exact: ['$1.98', '$10.3125', '$0.000001'], three: ['0', '71.9', '1,041', '3.2', '956'],
  percent: ['0\u00a0%', '<\u00a01\u00a0%', '93\u00a0%', '101\u00a0%'], uptime: ['99.98\u00a0%', '100\u00a0%'], memory: ['80\u00a0GiB', '1.8\u00a0TiB'], span: ['0\u00a0s', '48\u00a0s', '119\u00a0s', '2\u00a0min', '1\u00a0h', '3\u00a0h 12\u00a0min', '2\u00a0d 4\u00a0h'],
  line: ['3.8\u00a0↓ 2.1\u00a0↑\u00a0Gb/s', '940\u00a0↓ 910\u00a0↑\u00a0Mb/s'], at: '27 Nov 2026, 14:50:04 UTC',
  read: [['gpu=H100', 'price<2.20', 'count>=8', 'region=eu'], ['gpu=H200', 'tier>=3'], ['price<1.50', 'vram>=80'], ['gpu=A100', 'count>=2'], ['vram>=24', 'region=us-west-2', 'nvlink']],
  money: { used: '1.58', paid: '1.49', served: '0.09', back: '6.34', whole: '7.92' },
});

// Equal neighbours of an audit are folded, those that are not right never; a machine that was silent leaves a gap.
const parted = await page.evaluate(async () => {
  const { folds } = await import('/page/views/fold.js');
  const { gaps } = await import('/page/views/use.js');
  const all = (text, wrong = -1) => folds(text.split(' ').map((name, i) => ({ name, outcome: i === wrong ? 'wrong' : 'right' }))).map((f) => (f.words ? `${f.from}-${f.to} ${f.words}` : f.to - f.from > 1 ? `${f.from}-${f.to}` : f.from));
  const at = (times, step) => gaps(times.map((t) => ({ at: t, step, u: t }))).map((s) => s.u);
  return {
    one: all('order award paid paid paid paid end'), two: all('order paid paid end'), pairs: all('start verified paid verified paid verified paid end'), wrong: all('paid paid paid paid paid paid paid', 3), other: all('a b a b a b'),
    gaps: [at([0, 2, 4, 6], 2), at([0, 2, 20, 22], 2), at([0, 10, 30, 90], 10)],
  };
});
assert.deepEqual(parted, {
  one: [0, 1, 2, '3-6 3\u00a0more settlements like this', 6], two: [0, 1, 2, 3], pairs: [0, '1-3', '3-7 2\u00a0more reports with their settlements like this', 7],
  wrong: [0, '1-3 2\u00a0more settlements like this', 3, 4, '5-7 2\u00a0more settlements like this'], other: ['0-2', '2-6 4\u00a0more steps like this'],
  gaps: [[0, 2, 4, 6], [0, 2, null, 20, 22], [0, 10, 30, null, 90]],
});

// An order that the market refuses: the error is shown as it is.
await open(page, 'Deploy');
await look(page, 'deploy');
const fill = async (hours, cap) => {
  await page.getByRole('radiogroup', { name: 'Which GPU' }).getByRole('radio', { name: /A100/ }).first().click();
  await page.getByLabel('Run for').fill(hours);
  await page.getByLabel('Unit of the time').selectOption('3600');
  await page.getByLabel('Max price per GPU-hour').fill(cap);
  await page.getByLabel('Command', { exact: true }).fill("sh -c 'sleep 600'");
  await advanced(page);
  await page.getByLabel('Simulated GPUs too').check();
};
const held = page.locator('.sum .big');
await fill('1000', '4');
await held.getByText('$4,000.00').waitFor();
await deploy(page);
await page.getByRole('alert').getByText('order refused: 4000.00 USDC needed').waitFor();
assert.equal(await page.evaluate(() => sessionStorage.getItem('gantry.purchase')), null);
step('a refused order');

// One that is bought, with a reload while it is under way. What it can cost is in view all the time.
await open(page, 'Deploy');
await fill('0.5', '1.60');
await page.getByText('More terms and limits').click(); // from the API's document
await page.getByLabel('Memory MiB').fill('256');
const terms = await page.locator('.more-fields [name]').evaluateAll((all) => all.map((e) => e.name));
assert.equal(terms[terms.indexOf('more.attest') + 1], 'more.guest', 'a guest stands beside the policy that it needs');
await page.getByLabel('Nodes', { exact: true }).fill('2');
await held.getByText('$1.60').waitFor(); // for two machines
await page.getByLabel('Nodes', { exact: true }).fill('');
await held.getByText('$0.80').waitFor();
await page.locator('.best .meas').waitFor();
await look(page, 'what is ordered');
await shot(page, 'deploy', true);
// The server gets the first request; its answer never comes to the page, which is loaded anew meanwhile.
const first = new Promise((resolve) => {
  page.route(`${origin}/v1/orders`, (route) => resolve(route.fetch({ timeout: 60_000 })), { times: 1 });
});
await deploy(page);
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
await shot(page, 'lease-of-a-command', true);
// One number for one thing: what comes back is the same in the bar and in the dialog.
for (let n = 0; ; n++) {
  await page.getByRole('button', { name: /^Stop lease/ }).click();
  const dialog = await page.getByRole('dialog').locator('strong span').getAttribute('title');
  await page.getByRole('button', { name: 'Cancel' }).click();
  const shown = await page.locator('[data-money="back"] span').getAttribute('title');
  if (dialog === shown) break;
  assert.ok(n < 5, `the bar says ${shown}, the dialog ${dialog}`); // it was drawn anew in between
}
step('a lease runs');

// What is copied is the whole of it, also where less is shown.
const address = listed[0].address;
assert.equal(await copies(page, page.getByRole('button', { name: 'Copy lease', exact: true })), address);
assert.ok(!(await page.locator('.meta code').first().innerText()).includes(address), 'the address is shown in short');
assert.equal(await copies(page, page.getByRole('button', { name: 'Copy the SSH command' })), `gantry ssh ${address}`);
await page.evaluate(async () => {
  const { copyField } = await import('/page/parts.js');
  document.querySelector('main').append(copyField('https://node.example/a?b=1#c', 'what is tried'));
});
// What is looked up elsewhere is looked up on this cluster.
const { explorer } = await page.evaluate(async () => (await import('/page/api.js')).get('/page/about'));
assert.match(explorer, /[?&]cluster=custom&customUrl=/, 'a local network is no cluster of the explorer');
assert.equal(await page.getByRole('link', { name: 'Open lease in Solana Explorer' }).first().getAttribute('href'), explorer.replace('{path}', `address/${address}`));
const tried = page.getByRole('button', { name: 'Copy what is tried' });
assert.equal(await tried.locator('xpath=../code').innerText(), 'node.example/a?b=1#c');
assert.equal(await copies(page, tried), 'https://node.example/a?b=1#c');
step('copied');

// A name is what a person writes, whatever that is, and is shown everywhere.
const title = page.locator('h1 bdi');
assert.match(await title.innerText(), new RegExp(`^a100.*-${address.slice(0, 4)}$`), 'it begins with one of its GPUs');
const rename = async (name) => {
  await page.getByRole('button', { name: 'Rename this lease' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill(name);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
};
const strange = `<img src=x onerror=alert(1)> \u202E \u05D0\u05D1 ${'w'.repeat(64)}`.slice(0, 64);
await rename(strange);
await page.waitForFunction((text) => document.querySelector('h1 bdi').textContent === text, strange);
await page.reload();
await page.waitForFunction((text) => document.querySelector('h1 bdi')?.textContent === text, strange);
assert.equal(await page.locator('main img').count(), 0);
await look(page, 'a lease with a name');
await page.keyboard.press('Control+k');
await page.getByRole('dialog').getByRole('combobox').fill('wwww');
await page.getByRole('option', { name: /wwww/ }).waitFor();
await page.keyboard.press('Escape');
await open(page, 'Leases');
await page.getByRole('row', { name: /wwww/ }).getByRole('link').first().click();
await heading(page, 'Lease');
await rename('');
await page.waitForFunction((letters) => document.querySelector('h1 bdi').textContent.endsWith(letters), `-${address.slice(0, 4)}`);
await rename('nightly training');
step('names');

await open(page, 'Leases');
const row = page.getByRole('row', { name: /Running/ });
await row.waitFor();
await look(page, 'leases');
await shot(page, 'leases');
await row.getByRole('button', { name: /^Stop/ }).click();
await page.getByRole('dialog').getByText('Comes back to the credits').waitFor();
await page.getByRole('button', { name: 'Cancel' }).click();
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
// A stop brings back what the page has said, less the seconds that the machine has served since; nothing else.
const free = () => page.evaluate(async () => (await (await import('/page/api.js')).get('/v1/status')).account.free);
const freeBefore = await free();
const shownLease = await page.evaluate(async (id) => {
  document.querySelector('button.stop').click(); // with what the page knows at this moment
  return (await import('/page/api.js')).get(`/v1/leases/${id}`);
}, address);
const said = await page.getByRole('dialog').locator('strong span').getAttribute('title');
const stopped = page.waitForResponse((r) => r.url().endsWith('/stop'));
await page.getByRole('button', { name: 'Stop the lease' }).click();
const ended = await (await stopped).json();
await page.getByText('Ended (by customer)').waitFor();
assert.equal(await page.getByRole('button', { name: /^Stop/ }).count(), 0);
const freeAfter = await free();
const stop = await page.evaluate(async ([before, after, said, lease, first]) => {
  const { cost, micro } = await import('/page/show.js');
  const { leaseMoney } = await import('/page/money.js');
  const [price, back] = [micro(lease.pricePerGpuHour), micro(said.replace('$', ''))];
  const m = leaseMoney(lease);
  const at = (seconds) => cost(price, lease.gpus, seconds);
  const served = [...Array(lease.usedSeconds + 1).keys()].find((s) => leaseMoney(first).whole - at(s) === back); // seconds that the page knew of
  return { returned: String(micro(after) - micro(before)), says: String(m.back), back: String(back), served, used: lease.usedSeconds, later: String(at(lease.usedSeconds) - at(served ?? 0)) };
}, [freeBefore, freeAfter, said, ended, shownLease]);
assert.equal(stop.says, '0', 'nothing is left to come back');
assert.ok(stop.served !== undefined && stop.used - stop.served <= 10, `the page knew of the seconds: ${JSON.stringify(stop)}`);
assert.equal(BigInt(stop.back) - BigInt(stop.returned), BigInt(stop.later), `only the seconds since were taken: ${JSON.stringify(stop)}`);
step('it is stopped');

// Hostile texts in every place: they are shown as they are, and make nothing.
await poisoned(page, origin, ['market', 'deploy', 'newendpoint', 'leases', `machine/${listed[0].node}`, 'wallet', 'keepers', 'network', `lease/${listed[0].address}`, `audit/${listed[0].address}`, `slash/${listed[0].node}`]);
await page.route(`${origin}/v1/market`, (route) => route.fulfill({
  status: 502, contentType: 'application/problem+json', body: JSON.stringify({ title: hostile, status: 502, detail: hostile, nextStep: hostile, errors: [{ message: hostile, location: hostile }] }),
}));
await page.goto(`${origin}/#/market`);
await page.reload();
await page.getByRole('alert').getByText(hostile).first().waitFor();
assert.equal(await page.locator('main img, main .evil').count(), 0);
step('hostile texts');

// A narrow screen has no need to scroll sideways, but within tables.
await page.unroute(`${origin}/v1/market`);
const phone = await tab({ viewport: { width: 360, height: 640 } });
await phone.goto(`${origin}/`);
await heading(phone, 'Sign in');
await phone.getByLabel('Token of the server').fill(readFileSync(tokenFile, 'utf8').trim());
await phone.keyboard.press('Enter');
await heading(phone, 'Market');
const views = ['market', 'deploy', 'deploy?template=vllm', 'newendpoint', 'endpoints', 'clusters', 'newcluster', 'leases', `lease/${listed[0].address}`, 'machines', 'earnings', 'stake', 'calculator', `machine/${listed[0].node}`, 'wallet', 'credits', `audit/${listed[0].address}`, 'keepers', 'slashes', 'network'];
// tooWide names what is wider than the screen, where the page can be scrolled sideways.
const tooWide = () => (document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('body *')]
  .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.parentElement.closest('.scroll, .filters, .models, .tabs, .tries') && ![...e.children].some((c) => c.getBoundingClientRect().right > innerWidth + 1))
  .map((e) => `${e.outerHTML.slice(0, 120)} to ${Math.round(e.getBoundingClientRect().right)}`).slice(0, 4));
const wide = [];
for (const width of [320, 390, 820, 1024, 1280, 1440]) {
  await phone.setViewportSize({ width, height: 800 });
  for (const hash of views) {
    await phone.goto(`${origin}/#/${hash}`);
    await phone.reload();
    await phone.locator('main h1').waitFor();
    await phone.waitForTimeout(300); // charts are drawn a moment later
    wide.push(...(await phone.evaluate(tooWide)).map((what) => `${hash} at ${width}: ${what}`));
    // On wide screens no view of the navigation is cut off.
    if (width >= 1280) wide.push(...(await phone.evaluate(() => [...document.querySelectorAll('.frame > .views')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => `the navigation takes ${e.scrollWidth} of ${e.clientWidth}`))).map((what) => `${hash} at ${width}: ${what}`));
    if (width === 390) await shot(phone, `narrow-${hash.replace(/\W.*/, '')}`, true);
  }
}
assert.deepEqual(wide, []);

await end();
