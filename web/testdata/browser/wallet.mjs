// Tries the page with wallets in a browser, against a `gantry serve` of a wallet that has neither credits nor a session key,
// on a local network: from an empty browser to a running lease, and what must be refused.
//
// usage: node wallet.mjs CHROMIUM ORIGIN KEYPAIR_FILE [FOLDER]; FOLDER takes screenshots.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { begin, deploy as send, heading, open } from './lib.mjs';
import { install, keyOf } from './wallets.mjs';

const [executablePath, address, keyFile, folder] = process.argv.slice(2);
const { origin, host } = new URL(address);
const { tab, shot, look, step, end } = await begin(executablePath, origin, folder);
const key = keyOf(JSON.parse(readFileSync(keyFile, 'utf8')).slice(0, 32));

// Another wallet than the server's is told so, and is not let in.
const other = await tab();
await install(other, { name: 'Other wallet', key: keyOf(randomBytes(32)) });
await install(other, { name: 'Main wallet', key, chain: 'solana:mainnet' });
await other.goto(origin);
await other.getByRole('button', { name: 'Sign in with Other wallet' }).click();
await other.getByRole('alert').getByText('this server acts for another wallet').waitFor();
assert.equal(await other.getByRole('button', { name: /Main wallet/ }).count(), 0, 'a wallet of another cluster is not offered');
await look(other, 'sign in with a wallet');
await other.context().close();
step('another wallet is refused');

// From an empty browser to a running lease.
const page = await tab();
const behave = {};
const asked = await install(page, { name: 'Test wallet', key, behave });
let answer;
page.on('request', (r) => {
  if (r.url() === `${origin}/page/session/wallet`) answer = r.postDataJSON();
});
const began = Date.now();
await page.goto(origin);
await shot(page, 'sign-in');
await page.getByRole('button', { name: 'Sign in with Test wallet' }).click();
await heading(page, 'Market');
await open(page, 'Wallet');
await page.getByText('The server cannot order yet').waitFor();
await page.getByText('Connected: Test wallet').waitFor();
await page.getByRole('button', { name: 'Review and sign' }).click();
const dialog = page.getByRole('dialog');
await dialog.getByText('Moves 25.00 USDC from the wallet into its credits.').waitFor();
await dialog.getByText('Opens the credits account').waitFor();
await dialog.getByText(/Lets the server.s session key .* reserve at most 25.00 USDC/).waitFor();
await dialog.getByText('Sends 0.05 SOL to the session key').waitFor();
const leaves = await dialog.locator('dd strong').innerText();
await look(page, 'what the wallet signs');
await shot(page, 'wallet-sign');
await page.getByRole('button', { name: 'Sign with the wallet' }).click();
await page.getByText('Done, in transaction').waitFor();
const left = await page.evaluate(async () => (await import('/page/api.js')).get('/page/funds'));
const lamports = (text) => Math.round(Number(text.replace(' SOL', '')) * 1e9);
const [, usdcShown, solShown] = /^(\S+)\sUSDC and (\S+)\sSOL$/.exec(leaves);
assert.equal(Number(left.usdc), 1000 - Number(usdcShown), 'the wallet has paid what was shown');
assert.equal(lamports(left.sol), lamports('10') - lamports(solShown), 'and the SOL that was shown');
await page.getByRole('link', { name: 'Look for GPUs' }).click();
await page.getByRole('link', { name: /^Rent .*A100/ }).first().click();
await heading(page, 'Deploy');
await page.getByLabel('Command', { exact: true }).fill("sh -c 'sleep 600'");
await send(page);
await heading(page, 'Lease', 60_000);
await page.locator('.state-running').waitFor({ timeout: 60_000 });
const took = (Date.now() - began) / 1000;
step(`from an empty browser to a running lease: ${took.toFixed(1)} s, ${asked.length} signatures (${asked.map((a) => a.what).join(', ')})`);
assert.ok(took <= 60, `it took ${took} s`);
assert.ok(asked.length <= 3, `${asked.length} signatures`);
assert.match(Buffer.from(asked[0].bytes).toString(), new RegExp(`^${host} wants you to sign in with your Solana account:\n${key.address}\n`));

// The signed text is good once.
const replay = await fetch(`${origin}/page/session/wallet`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(answer) });
assert.equal(replay.status, 401);
assert.match((await replay.json()).detail, /signed in with already/);

// After a reload the wallet is connected again, without a question.
await open(page, 'Wallet');
await page.reload();
await page.getByText('Connected: Test wallet').waitFor();
await look(page, 'wallet');
await shot(page, 'wallet');

// A wallet that signs another transaction, or none: nothing is sent.
// What the lease is paid meanwhile leaves the credits too.
const micros = (text) => Math.round(Number(text) * 1e6);
const balance = async () => micros(await page.evaluate(async () => (await (await import('/page/api.js')).get('/v1/status')).account.balance));
const wallet = async () => micros(await page.evaluate(async () => (await (await import('/page/api.js')).get('/page/funds')).usdc));
const [before, held] = [await balance(), await wallet()];
const deposit = async () => {
  await page.getByLabel('Deposit, USDC').fill('3');
  await page.getByRole('button', { name: 'Review and sign' }).click();
  await page.getByRole('button', { name: 'Sign with the wallet' }).click();
};
behave.refuse = true;
await deposit();
await page.getByRole('alert').getByText('the wallet has not signed: User rejected the request.').waitFor();
behave.refuse = false;
behave.change = true;
await deposit();
await page.getByRole('alert').getByText('the wallet has signed another transaction than the one that was shown; nothing was sent').waitFor();
behave.change = false;
assert.ok(await balance() <= before, 'nothing was deposited');
assert.equal(await wallet(), held);
await page.getByLabel('Deposit, USDC').fill('100000');
await page.getByRole('button', { name: 'Review and sign' }).click();
await page.getByRole('alert').getByText('deposit refused: 100000.00 USDC asked').waitFor();
step('a wallet that refuses, and one that signs something else');

// Withdraw, and take the powers back: then the server cannot order.
await page.getByLabel('Withdraw, USDC').fill('1');
await page.getByRole('button', { name: 'Withdraw' }).click();
await page.getByRole('dialog').getByText('Moves 1.00 USDC from the credits into the wallet.').waitFor();
await page.getByRole('button', { name: 'Sign with the wallet' }).click();
await page.getByText('Done, in transaction').waitFor();
assert.ok(await balance() <= before - 1_000_000, 'the next answer shows it');
assert.equal(await wallet(), held + 1_000_000);
await page.getByRole('button', { name: 'Take the session key’s powers back' }).click();
await page.getByRole('dialog').getByText('Takes the powers of the server').waitFor();
await page.getByRole('button', { name: 'Sign with the wallet' }).click();
await page.getByText('The server cannot order yet').waitFor();
await open(page, 'Deploy');
await page.getByText('The server cannot order yet').waitFor();
step('withdrawn and revoked');

// A wallet with a sign-in of its own, which compares the name of the host; and the one for development.
const third = await tab();
const signed = await install(third, { name: 'Sign-in wallet', key, signIn: true });
await third.goto(origin);
await third.getByRole('button', { name: 'Sign in with Sign-in wallet' }).click();
await heading(third, 'Market');
assert.deepEqual(signed.map((s) => s.more), [{ domain: host, host }]);
await third.getByRole('button', { name: 'Sign out' }).click();
await heading(third, 'Sign in');
await third.getByLabel(/^Development wallet/).setInputFiles(keyFile);
await heading(third, 'Market');
await open(third, 'Wallet');
await third.getByText('Connected: Development wallet').waitFor();
await third.getByRole('button', { name: 'Review and sign' }).click();
await third.getByRole('button', { name: 'Sign with the wallet' }).click();
await third.getByText('Done, in transaction').waitFor();
step('a wallet with a sign-in of its own, and one for development');

await end();
