// Tries the page of a lease in a browser, against a `gantry serve` of a wallet that has neither credits nor a session key:
// the output of its container as it comes, what it uses, a terminal, more time, stop, rating and dispute.
//
// usage: node lease.mjs CHROMIUM ORIGIN KEYPAIR_FILE IMAGE [FOLDER]; IMAGE has busybox; FOLDER takes screenshots.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { advanced, begin, deploy, heading, open } from './lib.mjs';
import { install, keyOf } from './wallets.mjs';

const [executablePath, address, keyFile, image, folder] = process.argv.slice(2);
const { origin } = new URL(address);
const { tab, shot, look, step, end } = await begin(executablePath, origin, folder);
const page = await tab();
await install(page, { name: 'Test wallet', key: keyOf(JSON.parse(readFileSync(keyFile, 'utf8')).slice(0, 32)) });
await page.goto(origin);
await page.getByRole('button', { name: 'Sign in with Test wallet' }).click();
await heading(page, 'Market');
await open(page, 'Wallet');
await page.getByRole('button', { name: 'Review and sign' }).click();
await page.getByRole('button', { name: 'Sign with the wallet' }).click();
await page.getByText('Done, in transaction').waitFor();

await open(page, 'Deploy');
await page.getByLabel('Max price per GPU-hour').fill('3');
await page.getByLabel('Image', { exact: true }).fill(image);
await page.getByLabel('Command', { exact: true }).fill(`/bin/sh -c 'mkdir -p /tmp/www; echo hello from the port >/tmp/www/index.html; httpd -p 8080 -h /tmp/www; i=0; while :; do i=$((i+1)); echo "line $i"; sleep 1; done'`);
await advanced(page);
await page.getByLabel('Network').selectOption('none');
await page.getByLabel('Simulated GPUs too').check();
await deploy(page);
await heading(page, 'Lease', 90_000);
await page.locator('.state-running').waitFor({ timeout: 60_000 });
step('a container runs');

// Its output comes as it is printed, once; a reload shows it again.
const output = page.getByRole('region', { name: 'Output of the job' });
const lines = async () => (await output.innerText()).trim().split('\n');
await output.getByText('line 3').waitFor();
const before = (await lines()).length;
await page.waitForFunction((n) => document.querySelector('.logs').textContent.trim().split('\n').length >= n + 2, before);
const shown = await lines();
assert.deepEqual(shown, shown.map((_, i) => `line ${i + 1}`));
const telemetry = page.getByRole('region', { name: 'Telemetry' });
await telemetry.locator('figure', { hasText: 'CPU' }).locator('canvas').waitFor();
await telemetry.locator('figure', { hasText: 'GPU' }).first().waitFor();
assert.ok(await telemetry.locator('.simulated').count() > 0, 'simulated GPUs are marked');
await telemetry.locator('figure', { hasText: 'Power' }).getByText(/^of [\d,]+ W$/).waitFor();

// The server has kept what it used: after a reload the charts go on.
await page.waitForTimeout(9000);
await page.reload();
const past = await page.evaluate(async () => {
  const { events } = await import('/page/api.js');
  const stop = new AbortController();
  return new Promise((resolve, reject) => {
    events(`/page/leases/${location.hash.split('/').at(-1)}/use`, {}, stop.signal, { past: (p) => {
      resolve(p);
      stop.abort();
    } }).catch(reject);
  });
});
assert.ok(past.samples.length > 0 && past.everySeconds === 10, 'the server has kept samples');
await telemetry.locator('figure', { hasText: 'CPU' }).locator('canvas').waitFor();
const part = (name) => page.getByRole('tab', { name, exact: true }).click();
step('output and use');

// A port leads here: what the container serves is behind the link, which the page's policy lets a person follow.
await part('Ports');
await page.getByLabel('Another port').fill('8080');
await page.getByRole('button', { name: 'Open', exact: true }).click();
const link = page.locator('.ports a');
await link.waitFor();
assert.match(await link.getAttribute('href'), /^http:\/\/127\.0\.0\.1:\d+\/$/);
assert.equal(await link.getAttribute('rel'), 'noopener noreferrer');
const served = async () => {
  try {
    return await (await fetch(await link.getAttribute('href'))).text();
  } catch (err) {
    return String(err); // the server in the container begins a moment later
  }
};
for (let n = 0; !(await served()).includes('hello from the port') && n < 50; n++) await page.waitForTimeout(200);
assert.match(await served(), /hello from the port/);
// It is the lease's main act, and one of the ways to connect.
const way = page.getByRole('link', { name: 'Open', exact: true });
await way.waitFor();
assert.equal(await way.getAttribute('href'), await link.getAttribute('href'));
await page.getByText('On this computer, port 8080').waitFor();
assert.equal(await page.getByRole('button', { name: 'Copy the URL of port 8080' }).locator('xpath=../code').getAttribute('title'), await link.getAttribute('href'));
await look(page, 'a lease with an open port');
await shot(page, 'lease-open', true);
step('a port as a link');

// Files: a folder, a file into it, and back as it was.
await part('Files');
await page.getByLabel('Folder', { exact: true }).fill('/tmp/www');
const filesPanel = page.getByRole('tabpanel', { name: 'Files' });
await filesPanel.getByRole('button', { name: 'Open', exact: true }).click();
await filesPanel.getByRole('button', { name: 'index.html', exact: true }).waitFor();
const bytesSent = Buffer.from([0, 1, 2, 255, ...Buffer.from('über')]);
await filesPanel.getByLabel('Put a file here').setInputFiles({ name: 'a b&c.bin', mimeType: 'text/html', buffer: bytesSent });
const fileBack = filesPanel.getByRole('button', { name: 'a b&c.bin', exact: true });
await fileBack.waitFor();
await look(page, 'files of a container');
await shot(page, 'lease-files', true);
const [saved] = await Promise.all([page.waitForEvent('download', { timeout: 60_000 }), fileBack.click()]);
assert.equal(saved.suggestedFilename(), 'a b&c.bin');
assert.deepEqual(readFileSync(await saved.path()), bytesSent);
await filesPanel.getByRole('button', { name: '..', exact: true }).click();
await filesPanel.getByRole('button', { name: 'www/', exact: true }).click();
await fileBack.waitFor();
await page.getByLabel('Folder', { exact: true }).fill('/nowhere');
await filesPanel.getByRole('button', { name: 'Open', exact: true }).click();
await filesPanel.getByRole('alert').getByText('/nowhere is not there').waitFor();
step('files');

// A terminal: what is typed runs, and what it shows obeys the screen.
await part('Terminal');
await page.getByRole('button', { name: 'Open a terminal' }).click();
const screen = page.locator('.screen');
await page.waitForFunction(() => document.querySelector('.screen')?.textContent.includes('#') || document.querySelector('.screen')?.textContent.includes('$'));
await page.keyboard.type('echo answer-$((6*7))');
await page.keyboard.press('Enter');
await screen.getByText('answer-42', { exact: true }).waitFor();
await page.keyboard.type('stty size');
await page.keyboard.press('Enter');
await screen.getByText(/^24 \d+\s*$/).waitFor();
await page.keyboard.type("printf '\\033[31mred\\033[0m <img src=x onerror=alert(1)>\\n'");
await page.keyboard.press('Enter');
await screen.locator('.t-f1', { hasText: 'red' }).waitFor();
assert.equal(await page.locator('main img').count(), 0);
await look(page, 'a lease with a terminal');
await page.keyboard.type('clear; uname -sr; free -m; ls -l /');
await page.keyboard.press('Enter');
await screen.getByText(/ proc\s*$/).waitFor();
await shot(page, 'lease', true);
await page.setViewportSize({ width: 800, height: 900 });
await page.waitForTimeout(300);
await page.keyboard.type('clear; stty size');
await page.keyboard.press('Enter');
await page.waitForFunction(() => /^24 (\d+)$/m.test([...document.querySelectorAll('.screen div')].map((d) => d.textContent.trimEnd()).join('\n')));
await page.setViewportSize({ width: 1280, height: 800 });
await page.keyboard.type('exit');
await page.keyboard.press('Enter');
await page.getByText('The terminal is closed.').waitFor();
step('terminal');

// The token is needed for it, and another's page gets none.
const id = decodeURIComponent(new URL(page.url()).hash.split('/').at(-1));
const refused = (protocols) => page.evaluate(([path, protocols]) => new Promise((resolve) => {
  const s = new WebSocket(path, protocols);
  s.onopen = () => resolve('open');
  s.onerror = () => resolve('refused');
}), [`/page/leases/${id}/terminal`, protocols]);
assert.equal(await refused(['gantry.terminal']), 'refused');
assert.equal(await refused(['gantry.terminal', 'gantry.bearer.gantry_wrong']), 'refused');

// More time.
const until = async () => Date.parse(await page.locator('dt', { hasText: 'Money ends' }).locator('+ dd time').getAttribute('datetime'));
const first = await until();
await page.getByRole('button', { name: 'Extend' }).click();
await page.getByLabel('Minutes more').fill('5');
await page.getByRole('dialog').getByText('Reserves about').waitFor();
await page.getByRole('dialog').getByRole('button', { name: 'Extend' }).click();
await page.getByText('Extended by 5').first().waitFor();
await page.waitForFunction((t) => Date.parse([...document.querySelectorAll('dt')].find((e) => e.textContent === 'Money ends').nextElementSibling.querySelector('time').dateTime) > t, first);
assert.equal(await until() - first, 300_000);
step('extended');

await page.getByRole('button', { name: /^Stop/ }).click();
await page.getByRole('button', { name: 'Stop the lease' }).click();
await page.getByText('Ended (by customer)').waitFor();
await page.getByText('its customer ended it').waitFor();

// The wallet disputes it, keepers get the text; and it rates it.
await part('Events');
await page.getByLabel('What is wrong').selectOption('bad-output');
await page.getByLabel('Say and show it').fill('line 7 should have been line 8');
await page.getByRole('button', { name: 'Dispute' }).click();
await page.getByRole('dialog').getByText('Reserves a deposit of').waitFor();
await look(page, 'dispute');
await page.getByRole('button', { name: 'Sign with the wallet' }).click();
await page.getByText(/The text has reached 1 of 1 keepers/).waitFor({ timeout: 40_000 });
step('disputed');
await page.getByLabel('Rating').selectOption('4');
await page.getByRole('button', { name: 'Rate' }).click();
await page.getByRole('dialog').getByText('with 4 of 5').waitFor();
await page.getByRole('button', { name: 'Sign with the wallet' }).click();
await page.getByText(/4 of 5/).first().waitFor(); // a lease that is settled and rated may be closed at once
step('rated');

// Its history, rebuilt from its transactions.
await page.getByRole('link', { name: 'Audit this lease' }).click();
await heading(page, 'Audit');
await page.getByText('Everything adds up').waitFor({ timeout: 40_000 });
const names = await page.locator('.tl [data-step]').evaluateAll((all) => all.map((e) => e.dataset.step));
for (const name of ['order', 'award', 'start', 'extend', 'end', 'dispute', 'rated', 'sum']) assert.ok(names.some((n) => n.includes(name)), `${name} of ${names}`);
// What was reserved is what its parts are.
const micros = (text) => Math.round(Number(text.replace(/[$,]/g, '')) * 1e6);
const parts = await page.locator('.flow [data-part] .v').allInnerTexts();
assert.equal(micros(await page.locator('.flow .v').first().innerText()), parts.reduce((n, p) => n + micros(p), 0), 'the sums add up');
// So are the amounts beside the steps: put in, paid, and come back.
const moved = await page.locator('.tl [data-moved]').allInnerTexts();
const total = (of) => moved.filter(of).reduce((n, m) => n + micros(m.replace(/^[+\u2212]/, '')), 0);
const partOf = async (name) => micros(await page.locator(`.flow [data-part="${name}"] .v`).innerText());
const put = total((m) => m.startsWith('+'));
assert.equal(put, micros(await page.locator('.flow .v').first().innerText()), `what was reserved, of ${moved}`);
assert.equal(total((m) => m.startsWith('\u2212')), await partOf('Came back to the customer'), `what came back, of ${moved}`);
assert.equal(total((m) => m.startsWith('$')), await partOf('Provider') + await partOf('Fee'), `what was paid, of ${moved}`);
// Steps are for people: no address stands in full, moments are of UTC, and the chart's head claims nothing of a lease that is over.
const said = await page.locator('.tl').innerText();
assert.doesNotMatch(said, /\b[1-9A-HJ-NP-Za-km-z]{32,44}\b(?<!gantry [a-z ]+\w+)|\d{4}-\d\d-\d\d \d\d:|USDC|\(s\)/, said);
assert.match(said, /1 machine with 1 GPU for up to \d+\u00a0(min|h)/);
await page.locator('.tl [data-step=award]').getByRole('button', { name: 'Copy keeper' }).waitFor();
assert.match(await page.locator('.verdict .meta').innerText(), /1 × [A-Z]\w+.*\d+ \w+, \d\d:\d\d(:\d\d)? to \d\d:\d\d(:\d\d)? UTC, /s);
await page.mouse.move(0, 0);
assert.doesNotMatch(await page.locator('figure', { hasText: 'Money over time' }).locator('figcaption').innerText(), /\$/);
const who = page.getByRole('complementary', { name: 'About this audit' });
for (const party of ['customer', 'provider', 'keeper']) {
  await who.getByRole('button', { name: new RegExp(`^Copy .*${party}`) }).waitFor();
}
await look(page, 'audit');
await shot(page, 'audit', true);
// One that does not add up says so first, and where.
await page.route('**/v1/audit/*', async (route) => {
  const response = await route.fetch({ timeout: 40_000 });
  const json = await response.json();
  json.steps[2] = { ...json.steps[2], ok: false, outcome: 'wrong', problems: ['12 s are not accounted for'] };
  await route.fulfill({ response, json: { ...json, ok: false, outcome: 'wrong' } });
});
await page.getByRole('button', { name: 'Check again' }).click();
await page.getByRole('heading', { name: 'Does not add up at step 3' }).waitFor({ timeout: 40_000 });
await page.locator('#step-3').getByText('12 s are not accounted for').waitFor();
await look(page, 'an audit that does not add up');
await page.unrouteAll({ behavior: 'wait' });
step('audited');
await open(page, 'Keepers');
await page.getByRole('region', { name: 'Keepers' }).getByRole('row', { name: /active/ }).waitFor();
await page.getByRole('region', { name: 'Reports' }).getByRole('row', { name: /final/ }).first().waitFor({ timeout: 40_000 });
await look(page, 'keepers');
await shot(page, 'keepers', true);
await open(page, 'Network');
await page.getByRole('row', { name: /A100/ }).first().waitFor();
await look(page, 'network');
await end();
