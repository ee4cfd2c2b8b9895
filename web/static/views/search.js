// Reads what is typed into the market's search line: the terms of `gantry search`, and a few words of people.
const regions = { europe: 'eu', eu: 'eu', america: 'us', us: 'us', usa: 'us', asia: 'ap', germany: 'eu-central', canada: 'ca' };

// rules turn words into terms, one after the other; what they take is taken out of the text.
const rules = [
  [/(\w+)\s*(>=|<=|=|<|>)\s*([\w.-]+)/g, (_, name, op, value) => `${name.toLowerCase()}${op}${value}`],
  [/(?:under|below|at most)\s*\$?\s*(\d+(?:\.\d+)?)(?!\s*gi?b)/gi, (_, n) => `price<${n}`],
  [/(\d+)\s*gi?b\b/gi, (_, n) => `vram>=${n}`],
  [/\b(\d+)\s*[×x]\s*/gi, (_, n) => `count>=${n}`],
  [/\b(?:in|from)\s+([\w-]+)/gi, (_, where) => `region=${regions[where.toLowerCase()] ?? where}`],
  [/\battested\b/gi, () => 'tier>=3'],
  [/\b(nvlink|nvswitch|real|simulated|sandbox|volumes)\b/gi, (_, word) => word.toLowerCase()],
  [/\b(?:with|and|cheapest|best|gpus?|the)\b/gi, () => ''],
];

// read is the terms of a text; what is no term is the name of a GPU.
export function read(text) {
  const terms = [];
  let rest = ` ${text} `;
  for (const [pattern, term] of rules) {
    rest = rest.replace(pattern, (...m) => {
      const t = term(...m);
      if (t) terms.push(t);
      return ' ';
    });
  }
  const name = rest.replace(/[^\w.-]/g, '');
  return name ? [`gpu=${name}`, ...terms] : terms;
}

const names = { gpu: '', count: 'GPUs', price: 'Price', vram: 'Memory', uptime: 'Uptime', region: 'Region', tier: 'Tier', tops: 'TOPS', down: 'Down', up: 'Up', cpus: 'vCPU', ram: 'RAM', disk: 'Disk', rep: 'Reputation', bandwidth: 'GB/s', cuda: 'CUDA', compute: 'Compute capability' };
const units = { vram: ' GiB', uptime: ' %', rep: ' %', price: '' };

// words says a term for people.
export function words(term) {
  const m = /^(\w+)(>=|<=|=|<|>)(.+)$/.exec(term);
  if (!m) return { nvlink: 'NVLink', nvswitch: 'NVSwitch', real: 'Real GPUs', simulated: 'Simulated', sandbox: 'Runs images', volumes: 'Keeps volumes' }[term] ?? term;
  const [, name, op, value] = m;
  const sign = { '>=': '≥ ', '<=': '≤ ', '=': '', '<': '< ', '>': '> ' }[op];
  return `${names[name] ?? name} ${sign}${name === 'price' ? '$' : ''}${value}${units[name] ?? ''}`.trim();
}
