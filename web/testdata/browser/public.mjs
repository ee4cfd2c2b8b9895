// Tries the page of a `gantry serve --public` as a visitor without an account: the market, a machine, the audit, keepers, slashes
// and the network, without a token and without a question about an account.
//
// usage: node public.mjs CHROMIUM ORIGIN LEASE [FOLDER]; LEASE is one of anybody's; FOLDER takes screenshots.
import assert from 'node:assert/strict';
import { begin, heading, open } from './lib.mjs';

const [executablePath, address, lease, folder] = process.argv.slice(2);
const { origin } = new URL(address);
const { tab, shot, look, step, end } = await begin(executablePath, origin, folder);
const page = await tab();
const asked = [];
page.on('request', (r) => {
  asked.push(new URL(r.url()).pathname);
  assert.equal(r.headers().authorization, undefined, 'no token is sent');
});
await page.goto(origin);
await heading(page, 'Market');
await page.locator('.offers tbody tr').first().waitFor();
assert.deepEqual(await page.evaluate(() => [...globalThis.early.answers.keys()]), ['/v1/offers?q=real&sort=award'], 'what was asked early is used: about the server, and the offers of a local network');
assert.equal(asked.filter((p) => p === '/page/about').length, 1, 'and not asked twice');
assert.equal(await page.getByRole('link', { name: /^Rent / }).count(), 0, 'this server buys for nobody');
assert.equal(await page.getByRole('link', { name: 'Wallet' }).count(), 0);
await look(page, 'public market');
await shot(page, 'public-market');
await page.locator('.offers tbody a').first().click();
await heading(page, 'Machine');
await page.getByText(/^gantry deploy --gpu/).waitFor();
await look(page, 'public machine');
await shot(page, 'public-machine', true);
for (const name of ['Keepers', 'Slashes', 'Network', 'Machines', 'Calculator']) {
  await open(page, name);
  await look(page, `public ${name}`);
}
await page.goto(`${origin}/#/audit/${lease}`);
await page.getByText(/^(Everything adds up|Adds up as far)/).first().waitFor({ timeout: 40_000 });
await look(page, 'public audit');
await shot(page, 'public-audit', true);
await page.goto(`${origin}/#/leases`);
await heading(page, 'Market');
const account = /^\/(v1\/(status|leases|orders|events|templates|clusters|deployments|credits|team)|page\/(funds|session|challenge|transactions))/;
assert.deepEqual(asked.filter((p) => account.test(p)), [], 'nothing of an account is asked');
assert.equal(await page.evaluate(() => sessionStorage.length), 0);
step('a visitor without an account');
await end();
