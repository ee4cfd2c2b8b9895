// A terminal's screen: it takes the bytes of a program and keeps what it shows, as xterm does in what shells, editors and
// pagers use. What the program asks of the terminal beyond showing text is not done: no titles, no clipboard, no files. It
// answers two questions, where the cursor is and what it is.

// blank is an empty place in the colours of now.
const blank = (style) => ({ c: ' ', s: style });

export class Screen {
  constructor(columns, rows, answer) {
    this.answer = answer;
    this.columns = columns;
    this.rows = rows;
    this.scrolled = []; // lines above the screen, the oldest first
    this.reset();
  }

  reset() {
    this.style = '';
    this.colour = { bold: false, dim: false, underline: false, inverse: false, fg: null, bg: null };
    this.lines = this.empty();
    this.other = null; // the main screen, while a program shows another
    this.x = this.y = 0;
    this.saved = { x: 0, y: 0, style: '', colour: { ...this.colour } };
    [this.top, this.bottom] = [0, this.rows - 1];
    this.wrap = false; // the next character begins a line
    this.modes = { cursorKeys: false, wrap: true, cursor: true, paste: false, insert: false };
    this.state = 'text';
    this.params = '';
  }

  empty() {
    return Array.from({ length: this.rows }, () => this.line());
  }

  line() {
    return Array.from({ length: this.columns }, () => blank(this.style));
  }

  resize(columns, rows) {
    const fit = (lines) => {
      const out = lines.map((l) => Array.from({ length: columns }, (_, i) => l[i] ?? blank('')));
      while (out.length > rows && lines === this.lines && this.y < out.length - 1) out.pop();
      while (out.length > rows) {
        const gone = out.shift();
        if (lines === this.lines && !this.other) this.keep(gone);
        if (lines === this.lines) this.y = Math.max(0, this.y - 1);
      }
      while (out.length < rows) out.push(Array.from({ length: columns }, () => blank('')));
      return out;
    };
    const [lines, other] = [fit(this.lines), this.other && fit(this.other)];
    [this.lines, this.other, this.columns, this.rows] = [lines, other, columns, rows];
    [this.top, this.bottom, this.wrap] = [0, rows - 1, false];
    this.x = Math.min(this.x, columns - 1);
    this.y = Math.min(this.y, rows - 1);
  }

  keep(line) {
    this.scrolled.push(line);
    if (this.scrolled.length > 2000) this.scrolled.splice(0, this.scrolled.length - 2000);
  }

  write(text) {
    for (const c of text) this[this.state](c);
  }

  text(c) {
    const n = c.codePointAt(0);
    if (n >= 0x20 && n !== 0x7f && !(n >= 0x80 && n < 0xa0)) return this.put(c);
    switch (c) {
      case '\x1b': this.state = 'escape'; break;
      case '\r': [this.x, this.wrap] = [0, false]; break;
      case '\n': case '\v': case '\f': this.down(); break;
      case '\b': [this.x, this.wrap] = [Math.max(0, this.x - 1), false]; break;
      case '\t': [this.x, this.wrap] = [Math.min(this.columns - 1, (Math.floor(this.x / 8) + 1) * 8), false]; break;
      default:
    }
  }

  put(c) {
    if (this.wrap && this.modes.wrap) {
      this.x = 0;
      this.down();
    }
    this.wrap = false;
    const line = this.lines[this.y];
    if (this.modes.insert) {
      line.splice(this.x, 0, blank(this.style));
      line.pop();
    }
    line[this.x] = { c, s: this.style };
    if (this.x === this.columns - 1) this.wrap = true;
    else this.x++;
  }

  down() {
    this.wrap = false;
    if (this.y === this.bottom) this.scroll(1);
    else if (this.y < this.rows - 1) this.y++;
  }

  // scroll moves the region up, or down where n is negative.
  scroll(n) {
    for (let i = 0; i < Math.min(Math.abs(n), this.rows); i++) {
      if (n > 0) {
        const [gone] = this.lines.splice(this.top, 1);
        if (this.top === 0 && !this.other) this.keep(gone);
        this.lines.splice(this.bottom, 0, this.line());
      } else {
        this.lines.splice(this.bottom, 1);
        this.lines.splice(this.top, 0, this.line());
      }
    }
  }

  escape(c) {
    this.state = 'text';
    switch (c) {
      case '[': [this.state, this.params] = ['sequence', '']; break;
      case ']': case 'P': case '^': case '_': case 'X': this.state = 'string'; break;
      case '(': case ')': case '*': case '+': case '#': case '%': case ' ': this.state = 'skip'; break;
      case '7': this.save(); break;
      case '8': this.restore(); break;
      case 'c': this.reset(); break;
      case 'D': this.down(); break;
      case 'E': this.x = 0; this.down(); break;
      case 'M':
        if (this.y === this.top) this.scroll(-1);
        else this.y = Math.max(0, this.y - 1);
        break;
      default:
    }
  }

  skip() {
    this.state = 'text';
  }

  // string is text for the terminal itself, which is not obeyed: titles, clipboards, links.
  string(c) {
    if (c === '\x07' || c === '\x9c') this.state = 'text';
    else if (c === '\x1b') this.state = 'stringEnd';
  }

  stringEnd(c) {
    this.state = c === '\\' ? 'text' : 'string';
  }

  sequence(c) {
    if (c >= '@' && c <= '~') {
      this.state = 'text';
      this.run(c);
    } else if (c === '\x1b') {
      this.state = 'escape';
    } else if (c < ' ') {
      const at = this.state;
      this.text(c);
      this.state = at;
    } else if (this.params.length < 64) {
      this.params += c;
    }
  }

  save() {
    this.saved = { x: this.x, y: this.y, style: this.style, colour: { ...this.colour } };
  }

  restore() {
    const s = this.saved;
    [this.x, this.y, this.style, this.colour, this.wrap] = [Math.min(s.x, this.columns - 1), Math.min(s.y, this.rows - 1), s.style, { ...s.colour }, false];
  }

  to(x, y) {
    this.x = Math.max(0, Math.min(this.columns - 1, x));
    this.y = Math.max(0, Math.min(this.rows - 1, y));
    this.wrap = false;
  }

  run(c) {
    const mark = /^[?>=!]/.exec(this.params)?.[0] ?? '';
    const p = this.params.slice(mark.length).split(/[;:]/).map((n) => Math.min(Number.parseInt(n, 10) || 0, 9999));
    const n = Math.max(1, p[0]);
    if (mark === '?') {
      if (c === 'h' || c === 'l') for (const mode of p) this.mode(mode, c === 'h');
      return;
    }
    if (mark) {
      if (mark === '>' && c === 'c') this.answer('\x1b[>0;0;0c');
      return;
    }
    switch (c) {
      case 'A': this.to(this.x, Math.max(this.y - n, this.y >= this.top ? this.top : 0)); break;
      case 'B': case 'e': this.to(this.x, Math.min(this.y + n, this.y <= this.bottom ? this.bottom : this.rows - 1)); break;
      case 'C': case 'a': this.to(this.x + n, this.y); break;
      case 'D': this.to(this.x - n, this.y); break;
      case 'E': this.to(0, this.y + n); break;
      case 'F': this.to(0, this.y - n); break;
      case 'G': case '`': this.to(n - 1, this.y); break;
      case 'H': case 'f': this.to(Math.max(1, p[1] ?? 1) - 1, n - 1); break;
      case 'd': this.to(this.x, n - 1); break;
      case 'J': this.erase(p[0]); break;
      case 'K': this.eraseLine(p[0]); break;
      case 'L': case 'M': this.moveLines(c === 'L' ? -n : n); break;
      case 'P': this.lines[this.y].splice(this.x, n); this.fill(this.y); break;
      case '@': this.lines[this.y].splice(this.x, 0, ...Array.from({ length: Math.min(n, this.columns) }, () => blank(this.style))); this.lines[this.y].length = this.columns; break;
      case 'X': for (let i = this.x; i < Math.min(this.columns, this.x + n); i++) this.lines[this.y][i] = blank(this.style); break;
      case 'S': this.scroll(n); break;
      case 'T': this.scroll(-n); break;
      case 'm': this.paint(p); break;
      case 'n': if (p[0] === 6) this.answer(`\x1b[${this.y + 1};${this.x + 1}R`); else if (p[0] === 5) this.answer('\x1b[0n'); break;
      case 'c': this.answer('\x1b[?6c'); break;
      case 'r':
        [this.top, this.bottom] = [n - 1, Math.min(this.rows, p[1] || this.rows) - 1];
        if (this.top >= this.bottom) [this.top, this.bottom] = [0, this.rows - 1];
        this.to(0, 0);
        break;
      case 's': this.save(); break;
      case 'u': this.restore(); break;
      case 'h': case 'l': if (p[0] === 4) this.modes.insert = c === 'h'; break;
      default:
    }
  }

  fill(y) {
    while (this.lines[y].length < this.columns) this.lines[y].push(blank(this.style));
  }

  moveLines(n) {
    if (this.y < this.top || this.y > this.bottom) return;
    const top = this.top;
    const other = this.other;
    [this.top, this.other] = [this.y, other ?? []]; // what goes from the middle is not kept
    this.scroll(n);
    [this.top, this.other] = [top, other];
  }

  erase(how) {
    if (how === 3) {
      this.scrolled = [];
      return;
    }
    if (how === 0 || how === 1) this.eraseLine(how);
    const [from, to] = [[this.y + 1, this.rows], [0, this.y], [0, this.rows]][how] ?? [0, 0];
    for (let y = from; y < to; y++) this.lines[y] = this.line();
  }

  eraseLine(how) {
    const [from, to] = [[this.x, this.columns], [0, this.x + 1], [0, this.columns]][how] ?? [0, 0];
    for (let x = from; x < to; x++) this.lines[this.y][x] = blank(this.style);
  }

  mode(mode, on) {
    switch (mode) {
      case 1: this.modes.cursorKeys = on; break;
      case 7: this.modes.wrap = on; break;
      case 25: this.modes.cursor = on; break;
      case 2004: this.modes.paste = on; break;
      case 47: case 1047: case 1049:
        if (on && !this.other) {
          this.save();
          [this.other, this.lines] = [this.lines, this.empty()];
        } else if (!on && this.other) {
          [this.lines, this.other] = [this.other, null];
          this.restore();
        }
        break;
      default:
    }
  }

  // paint takes the numbers of colours and of how text is shown.
  paint(p) {
    const k = this.colour;
    for (let i = 0; i < p.length; i++) {
      const n = p[i];
      if (n === 0) Object.assign(k, { bold: false, dim: false, underline: false, inverse: false, fg: null, bg: null });
      else if (n === 1) k.bold = true;
      else if (n === 2) k.dim = true;
      else if (n === 4) k.underline = true;
      else if (n === 7) k.inverse = true;
      else if (n === 22) k.bold = k.dim = false;
      else if (n === 24) k.underline = false;
      else if (n === 27) k.inverse = false;
      else if (n >= 30 && n <= 37) k.fg = n - 30;
      else if (n >= 90 && n <= 97) k.fg = n - 82;
      else if (n >= 40 && n <= 47) k.bg = n - 40;
      else if (n >= 100 && n <= 107) k.bg = n - 92;
      else if (n === 39) k.fg = null;
      else if (n === 49) k.bg = null;
      else if (n === 38 || n === 48) {
        let colour = null;
        if (p[i + 1] === 5) {
          colour = nearest256(p[i + 2] ?? 0);
          i += 2;
        } else if (p[i + 1] === 2) {
          colour = nearest(p[i + 2] ?? 0, p[i + 3] ?? 0, p[i + 4] ?? 0);
          i += 4;
        }
        k[n === 38 ? 'fg' : 'bg'] = colour;
      }
    }
    this.style = [k.bold && 'b', k.dim && 'd', k.underline && 'u', k.inverse && 'i', k.fg !== null && `f${k.fg}`, k.bg !== null && `g${k.bg}`].filter(Boolean).join(' ');
  }
}

const palette = [[0, 0, 0], [205, 0, 0], [0, 205, 0], [205, 205, 0], [0, 0, 238], [205, 0, 205], [0, 205, 205], [229, 229, 229], [127, 127, 127], [255, 0, 0], [0, 255, 0], [255, 255, 0], [92, 92, 255], [255, 0, 255], [0, 255, 255], [255, 255, 255]];

// nearest is the one of the sixteen colours that is most like another: the page has no styles of its own to show more.
function nearest(r, g, b) {
  let best = 0;
  let least = Infinity;
  palette.forEach(([x, y, z], i) => {
    const d = (r - x) ** 2 + (g - y) ** 2 + (b - z) ** 2;
    if (d < least) [best, least] = [i, d];
  });
  return best;
}

function nearest256(n) {
  if (n < 16) return n;
  if (n >= 232) return nearest(...Array(3).fill(8 + (n - 232) * 10));
  const part = (k) => (k === 0 ? 0 : 55 + k * 40);
  return nearest(part(Math.floor((n - 16) / 36)), part(Math.floor(((n - 16) % 36) / 6)), part((n - 16) % 6));
}
