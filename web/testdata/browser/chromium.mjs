// Unpacks the Chromium of the package @sparticuz/chromium into a folder: node chromium.mjs FOLDER
import { mkdir, rm } from 'node:fs/promises';

const folder = process.argv[2];
await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
process.env.TMPDIR = folder; // where the package unpacks
const { default: chromium } = await import('@sparticuz/chromium');
console.log(await chromium.executablePath());
