// Tries the page's views of providers, slashes, templates and deployments in a browser, against a running `gantry serve` on a
// local network with a machine whose work is wrong.
//
// usage: node views.mjs CHROMIUM LINK HONEST_WALLET WRONG_WALLET [FOLDER]; the honest one's machine has served a lease; FOLDER
// takes screenshots.
import assert from 'node:assert/strict';
import { poisoned } from './hostile.mjs';
import { advanced, begin, deploy, heading, open } from './lib.mjs';

const [executablePath, link, honest, wrong, folder] = process.argv.slice(2);
const { origin } = new URL(link);
const { tab, shot, look, step, end } = await begin(executablePath, origin, folder);
const page = await tab();
await page.goto(link);
await heading(page, 'Market');

// The lease has just ended, and is closed soon: until then its start is among those that are counted.
await open(page, 'Network');
await page.getByText(/of 1\slease$/).waitFor();

// The customer's wallet is not a provider; the calculator is there all the same.
await open(page, 'Machines');
await page.getByText('This wallet is not a provider.').waitFor();
await page.getByLabel('Wallet of the owner').fill('nobody');
await page.getByRole('button', { name: 'Show' }).click();
await page.getByRole('alert').waitFor();

// An honest one has earned, and has nothing to do.
await open(page, 'Machines');
await page.goto(`${origin}/#/machines/${honest}`);
const card = page.getByRole('region', { name: 'Machines' });
await card.getByText('Healthy').waitFor();
assert.equal(await page.locator('.todo').count(), 0);
const byDay = card.getByRole('img', { name: /^Checks passed by day, 1 of 90 days known/ });
for (let n = 0; n < 40 && await byDay.count() === 0; n++) { // the server looks once a minute, while somebody asks for the market
  await page.evaluate(async () => (await import('/page/api.js')).get('/v1/offers?limit=1'));
  await page.waitForTimeout(4000);
  await page.reload();
  await card.getByText('Healthy').waitFor();
}
await byDay.waitFor();
await look(page, 'machines');
await shot(page, 'machines', true);
await open(page, 'Calculator');
const returns = page.getByRole('form', { name: 'Expected return' });
await returns.getByLabel('GPUs', { exact: true }).fill('2');
await returns.getByLabel('Price per GPU-hour, USDC').fill('1.50');
await returns.getByLabel('Use, %').fill('50');
await page.getByText('12.00 % = $131.40').waitFor();
await page.getByText('$963.60').waitFor(); // 2 × 1.50 × 730 × 0.5, less 12 %
await returns.getByLabel('Power of a GPU at work, W').fill('400');
await returns.getByLabel('Power of an idle GPU, W').fill('100');
await returns.getByLabel('Price of power, USDC per kWh').fill('0.30');
await page.getByText('365.0 kWh = $109.50').waitFor();
await page.getByText('$854.10').waitFor();
await returns.getByLabel('What the GPUs have cost, USDC').fill('20000');
await page.getByText('23.4 months').waitFor();
await look(page, 'calculator');
await page.goto(`${origin}/#/stake/${honest}`);
await page.getByRole('region', { name: 'Stake by machine' }).waitFor();
await look(page, 'stake');
await page.goto(`${origin}/#/machines/${honest}`);
await card.getByRole('link').first().click();
await heading(page, 'Machine');
const days = page.getByRole('img', { name: /^Earned by day/ });
for (let n = 0; n < 20 && await days.count() === 0; n++) { // a lease is settled a period later
  await page.waitForTimeout(3000);
  await page.reload();
  await page.getByText(/transactions (that|were read)/).waitFor();
}
await days.locator('canvas').waitFor();
await page.getByRole('region', { name: 'Checks' }).getByText('all passed').first().waitFor();
await look(page, 'machine');
await shot(page, 'machine', true);
step('an honest provider');

// One whose machine computes wrong results is told what it costs, and what to do.
await page.goto(`${origin}/#/machines/${wrong}`);
await page.locator('.todo').getByText('the node is suspended').waitFor({ timeout: 90_000 });
await page.locator('.todo').getByText('gantry-agent update --status active').first().waitFor();
await look(page, 'provider with a fault');
await shot(page, 'provider-fault', true);

// The slash is among the past ones, with its proof.
await open(page, 'Slashes');
const past = page.getByRole('region', { name: 'Past slashes' });
for (let n = 0; n < 40 && (await past.count()) === 0; n++) { // it takes effect when its appeal window is over
  await page.waitForTimeout(3000);
  await page.reload();
  await page.getByText(/Nobody was slashed yet|None among the last|The newest first\. (These are all|There may)/).first().waitFor();
}
await past.getByRole('row', { name: /fault of a node/ }).first().waitFor();
await look(page, 'slashes');
await shot(page, 'slashes', true);
await past.getByRole('link', { name: /^Audit / }).first().click();
await heading(page, 'Slash');
await page.getByText('Everything adds up').first().waitFor({ timeout: 40_000 });
const steps = await page.locator('.tl [data-step]').evaluateAll((all) => all.map((e) => e.dataset.step));
assert.ok(steps.includes('slashed'), `slashed of ${steps}`);
await look(page, 'slash');
await shot(page, 'slash', true);
step('a slash with its proof');

// The cluster's node may show less than what happened: then nobody is said to be wrong.
const cutOff = async (route) => {
  const response = await route.fetch();
  const json = await response.json();
  for (const slash of json.slashes) {
    Object.assign(slash, { ok: false, outcome: 'unknown' });
    Object.assign(slash.steps[0], { ok: false, outcome: 'unknown', unknown: 'the node cut the log' });
  }
  await route.fulfill({ response, json });
};
await page.route('**/v1/slashes/*', cutOff);
await page.reload();
await page.getByText('Adds up as far as it can be read').first().waitFor({ timeout: 40_000 });
await page.getByText('Not known: the node cut the log').first().waitFor();
await look(page, 'slash that is not known');
await page.unroute('**/v1/slashes/*', cutOff);
step('a slash that is not known');

await poisoned(page, origin, ['slashes', ...['machines', 'earnings', 'stake'].map((view) => `${view}/${honest}`)]);
await page.goto(`${origin}/#/market`);
await page.reload();
step('hostile texts of a provider');

// A template: what it needs, what a try costs, its parameters.
await open(page, 'Deploy');
await page.getByRole('radio', { name: /^JupyterLab/ }).click();
await page.getByText(/A try of 30\smin on 1 × A100 costs at most \$1\.00/).waitFor();
await page.getByText(/listens on 8888 \(notebook\)/).waitFor();
await page.getByLabel('Token', { exact: true }).fill('short');
assert.equal(await page.getByLabel('Token', { exact: true }).evaluate((e) => e.checkValidity()), false);
await page.getByLabel('Token', { exact: true }).fill('0123456789abcdef');
await advanced(page);
await page.getByLabel('Simulated GPUs too').check();
await look(page, 'a template');
await shot(page, 'template', true);
assert.ok(!(await page.locator('.copy code').last().innerText()).includes('0123456789abcdef'), 'a secret is not in the command');
const sent = [];
page.on('request', (r) => r.method() === 'POST' && r.url().includes('/v1/templates/') && sent.push(r.postDataJSON()));
await deploy(page);
await heading(page, 'Purchase'); // no machine of this network runs images: the market's refusal is shown
await page.getByRole('alert').waitFor({ timeout: 60_000 });
assert.deepEqual(sent[0].set, { token: '0123456789abcdef' });
step('a template');

// A deployment that waits for its first request costs nothing; its name is shown to clients, and a token is made for them.
await open(page, 'Endpoints');
await page.getByText('This server has none.').waitFor();
await page.getByRole('link', { name: 'New endpoint' }).click();
await heading(page, 'New endpoint');
await page.getByText('Serves a quantised model').waitFor(); // llama-cpp is the first by name
await page.getByLabel('Template').selectOption('vllm');
await page.getByLabel('Max model len', { exact: true }).waitFor();
await page.getByLabel('Template').selectOption('llama-cpp');
await page.getByText('Serves a quantised model').waitFor();
await page.getByLabel('GPU layers', { exact: true }).waitFor();
assert.equal(await page.getByLabel('Max model len', { exact: true }).count(), 0);
await page.getByLabel('Name', { exact: true }).fill('words');
await page.getByLabel('Max price per GPU-hour').fill('2');
await page.getByLabel('Replicas, at most').fill('3');
await page.getByText('$6.00').first().waitFor();
await look(page, 'new deployment');
await shot(page, 'newendpoint', true);
await page.getByRole('button', { name: 'Create', exact: true }).click();
await page.getByRole('dialog').getByText('0 to 3, each 1 ×').waitFor();
await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click();
await heading(page, 'Endpoint words');
await page.getByText('None: the first request begins one.').waitFor();
await page.getByRole('button', { name: 'Make a token for clients' }).click();
const made = page.getByText(/^Token\s/).locator('code');
await made.waitFor();
const models = await fetch(`${origin}/openai/v1/models`, { headers: { Authorization: `Bearer ${await made.innerText()}` } });
assert.deepEqual((await models.json()).data.map((m) => m.id), ['words'], 'the token opens the deployment');
await look(page, 'deployment');
await shot(page, 'deployment', true);
await open(page, 'Endpoints');
await page.getByRole('row', { name: /words/ }).getByText('0 of 0 serve (0 to 3)').waitFor();
await look(page, 'deployments');
await page.getByRole('link', { name: 'words' }).click();
await page.getByRole('button', { name: 'Stop the endpoint' }).click();
await page.getByRole('dialog').getByRole('button', { name: 'Stop the endpoint' }).click();
await page.getByText('The endpoint is gone').waitFor();
step('a deployment');

await open(page, 'Network');
await page.getByRole('region', { name: 'GPU models' }).getByRole('row', { name: /A100/ }).getByText('1 of 2').waitFor(); // the suspended one takes no orders
await look(page, 'network');
await shot(page, 'network', true);
await end();
