// Measures when the page is painted first, in browsers whose processor is slowed down, against a running `gantry serve`: the
// first paint, and when the market's offers are shown. Each time is that of a browser without a cache.
//
// usage: node paint.mjs CHROMIUM ORIGIN TOKEN_FILE TIMES [SLOWDOWN]
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

const [executablePath, address, tokenFile, times, slowdown = '4'] = process.argv.slice(2);
const { origin } = new URL(address);
const token = readFileSync(tokenFile, 'utf8').trim();
const browser = await chromium.launch({ executablePath, args: process.getuid() === 0 ? ['--no-sandbox'] : [] });
const taken = { 'first paint': [], 'offers are shown': [] };
let bytes = 0;
for (let i = 0; i < Number(times); i++) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.addInitScript((t) => {
    sessionStorage.setItem('gantry.token', t);
    window.painted = new Promise((done) => new PerformanceObserver((all) => all.getEntriesByName('first-contentful-paint').forEach((e) => done(e.startTime))).observe({ type: 'paint', buffered: true }));
    window.shown = new Promise((done) => {
      const watch = new MutationObserver(() => {
        if (!document.querySelector('.offers tbody tr')) return;
        watch.disconnect();
        requestAnimationFrame(() => setTimeout(() => done(performance.now()))); // after the frame that shows them
      });
      watch.observe(document, { childList: true, subtree: true });
    });
  }, token);
  const cdp = await context.newCDPSession(page);
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: Number(slowdown) });
  await page.goto(`${origin}/#/market`);
  const [first, shown, size] = await page.evaluate(async () => [await window.painted, await window.shown,
    performance.getEntriesByType('resource').filter((r) => r.name.includes('/page/')).reduce((n, r) => n + r.decodedBodySize, 0)]);
  taken['first paint'].push(first);
  taken['offers are shown'].push(shown);
  bytes = size;
  await context.close();
}
await browser.close();
for (const [what, all] of Object.entries(taken)) {
  all.sort((a, b) => a - b);
  console.log(`${what}, ${slowdown} times slower: median ${Math.round(all[Math.floor((all.length - 1) / 2)])} ms, ${Math.round(all[0])} to ${Math.round(all.at(-1))} ms, of ${all.length}`);
}
console.log(`${bytes} bytes of files`);
