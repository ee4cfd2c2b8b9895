// Opens a payment on the page of a `gantry serve` that has a public address and an on-ramp, whose delivery has arrived.
//
// usage: node credits.mjs CHROMIUM LINK PICTURE [FOLDER]; LINK signs in, PICTURE gets the QR code, FOLDER takes screenshots.
// It prints the link that the page shows.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { begin, heading, open } from './lib.mjs';

const [executablePath, link, picture, folder] = process.argv.slice(2);
const { origin } = new URL(link);
const { tab, shot, look, end } = await begin(executablePath, origin, folder);
const page = await tab();
await page.goto(link);
await heading(page, 'Market');
await open(page, 'Wallet');
await page.getByRole('link', { name: 'Add credits' }).click();
await heading(page, 'Add credits');
await page.getByText('arrived in the wallet').waitFor();
await page.getByText('7.00 USDC').waitFor();
await look(page, 'add credits');
await page.getByLabel('Deposit, USDC').fill('100000');
await page.getByRole('button', { name: 'Show the QR code' }).click();
await page.getByRole('alert').getByText('amount out of range').waitFor();
await page.getByLabel('Deposit, USDC').fill('2.5');
await page.getByRole('button', { name: 'Show the QR code' }).click();
await page.getByText('Waiting for a wallet to follow the link.').waitFor();
const code = page.getByRole('img', { name: 'QR code of the link for 2.50 USDC' });
const data = await code.evaluate((c) => c.toDataURL('image/png'));
writeFileSync(picture, Buffer.from(data.split(',')[1], 'base64'));
const shown = await page.getByText(/^solana:https:/).innerText();
assert.match(shown, /\/pay\//);
await look(page, 'a payment');
await shot(page, 'page-credits', true);
await page.getByRole('button', { name: 'Another amount' }).click();
// Without a wallet in the browser, what has arrived is deposited by a wallet on a phone.
await page.getByRole('button', { name: 'Deposit' }).click();
await page.getByRole('img', { name: 'QR code of the link for 7.00 USDC' }).waitFor();
await end();
console.log(`link ${shown}`);
