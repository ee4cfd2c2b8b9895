// Tries the page's views of clusters in a browser, against a running `gantry serve` on a local network whose machines run
// containers.
//
// usage: node clusters.mjs CHROMIUM LINK IMAGE [FOLDER]; FOLDER takes screenshots.
import assert from 'node:assert/strict';
import { begin, heading, open } from './lib.mjs';

const [executablePath, link, image, folder] = process.argv.slice(2);
const { origin } = new URL(link);
const { tab, shot, look, step, end } = await begin(executablePath, origin, folder);
const page = await tab();
await page.goto(link);
await heading(page, 'Market');
await open(page, 'Clusters');
await page.getByText('This server has bought none.').waitFor();
await look(page, 'no clusters');

// What cannot become a cluster is said before anything is asked.
await page.getByRole('link', { name: 'New cluster' }).click();
await heading(page, 'New cluster');
await page.getByLabel('Name', { exact: true }).fill('pair');
await page.getByLabel('GPU', { exact: true }).selectOption({ label: await page.getByLabel('GPU', { exact: true }).locator('option', { hasText: 'A100' }).first().innerText() });
await page.getByLabel('Image', { exact: true }).fill(image);
await page.getByLabel('What runs').selectOption('torch');
await page.getByRole('button', { name: 'Deploy', exact: true }).click();
await page.getByRole('alert').getByText('torchrun needs a command').waitFor();
await page.getByLabel('What runs').selectOption('shell');
await page.getByLabel('Command', { exact: true }).fill('/bin/sh -c "echo I am $GANTRY_NODE_RANK; sleep 600"');
await page.getByLabel('Max price per GPU-hour').fill('3');
await page.getByLabel('Hours', { exact: true }).fill('0.5');
await page.getByLabel('Network', { exact: true }).selectOption('none');
await page.getByLabel('Simulated GPUs too').check();
await page.getByText('$3.00').first().waitFor(); // 2 machines × 3 × half an hour
await look(page, 'new cluster');
await shot(page, 'newcluster', true);
await page.getByRole('button', { name: 'Deploy', exact: true }).click();
await page.getByRole('dialog').getByText('1 × A100').waitFor();
await page.getByRole('dialog').getByRole('button', { name: 'Deploy', exact: true }).click();
await heading(page, 'Cluster pair', 120_000);
step('bought');

// Both members run, each in its place, and lead to their leases.
await page.getByText('2 of 2 run').waitFor({ timeout: 60_000 });
const rows = page.getByRole('region', { name: 'Members' }).locator('tbody tr');
assert.deepEqual(await rows.locator('th').allInnerTexts(), ['node-0', 'node-1']);
await page.getByText('10.77.0.2').waitFor();
await page.getByText(/^gantry vpn /).waitFor();
await look(page, 'cluster');
await shot(page, 'cluster', true);

// A machine is added; the price is asked first.
await page.getByRole('button', { name: 'Add machines' }).click();
await page.getByRole('dialog').getByText('$3.00').waitFor();
assert.equal(await page.getByLabel('Machines that run then').inputValue(), '3');
await look(page, 'add machines');
await page.getByRole('dialog').getByRole('button', { name: 'Add machines' }).click();
await page.getByText('3 of 3 run').waitFor({ timeout: 120_000 });
assert.deepEqual(await rows.locator('th').allInnerTexts(), ['node-0', 'node-1', 'node-2']);
step('a machine was added');
await rows.nth(1).getByRole('link').first().click();
await heading(page, 'Lease');
await page.getByText('I am 1').waitFor({ timeout: 30_000 });
step('its members');

// It is in the list, and its name is taken.
await open(page, 'Clusters');
await page.getByRole('row', { name: /pair/ }).getByText('Running').waitFor();
await look(page, 'clusters');
await shot(page, 'clusters', true);
await page.getByRole('link', { name: 'New cluster' }).click();
await page.getByLabel('Name', { exact: true }).fill('pair');
await page.getByLabel('Image', { exact: true }).fill(image);
await page.getByRole('button', { name: 'Deploy', exact: true }).click();
await page.getByRole('alert').getByText('there is a cluster pair already').waitFor();

await open(page, 'Clusters');
await page.getByRole('link', { name: 'pair' }).click();
await page.getByRole('button', { name: 'End the cluster' }).click();
await page.getByRole('dialog').getByRole('button', { name: 'End the cluster' }).click();
await page.getByText('0 of 3 run').waitFor({ timeout: 60_000 });
await page.getByRole('button', { name: 'End the cluster' }).waitFor({ state: 'detached', timeout: 60_000 });
step('ended');
await end();
