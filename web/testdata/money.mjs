// Says what the page shows of leases' money, with the page's own functions: a list of leases as /v1/leases answers them is read
// from standard input; what each one used, what is paid, and what comes back are written, to the last unit.
import { readFileSync } from 'node:fs';
import { leaseMoney, texts } from '../static/money.js';
import { exact } from '../static/show.js';

const shown = (lease) => Object.fromEntries(Object.entries(texts(leaseMoney(lease))).map(([part, text]) => [part, exact(text)]));
console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(shown)));
