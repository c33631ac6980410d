// The page in a real browser: `scripts/test-page` builds what it needs and runs it.
//
// Environment: FORETELL (the program), MADE_UP (the example `made_up_study`), CHROMIUM, and SHOTS (a folder for screenshots; none without).
import { spawn, execFileSync } from "node:child_process";
import { createServer, request } from "node:http";
import { existsSync, mkdtempSync, mkdirSync, rmSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const { FORETELL, MADE_UP, CHROMIUM, SHOTS } = process.env;
const home = mkdtempSync(join(tmpdir(), "foretell-page-"));
const axe = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const servers = [];
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Tries `look` until it gives something true; a strict content policy forbids Playwright's own waiting.
async function until(what, look, seconds = 20) {
  const end = Date.now() + 1000 * seconds;
  for (;;) {
    const found = await look();
    if (found) return found;
    assert.ok(Date.now() < end, `waited ${seconds} s for: ${what}`);
    await sleep(25);
  }
}

async function serve(folder, { port = 0, token } = {}) {
  const words = ["serve", folder, "--address", `127.0.0.1:${port}`, ...(token ? ["--token", token] : [])];
  const child = spawn(FORETELL, words, { stdio: ["ignore", "ignore", "pipe"] });
  servers.push(child);
  let said = "";
  child.stderr.on("data", (text) => { said += text; });
  // an address that is not printed to a terminal has no token
  const printed = await until("the server listens", () => said.match(/http:\/\/[^\s]+/)?.[0] ?? (child.exitCode !== null && assert.fail(said)));
  const url = token && !printed.includes("token=") ? `${printed}?token=${token}` : printed;
  const stop = async () => { child.kill("SIGKILL"); await until("the server ends", () => child.exitCode !== null || child.signalCode !== null); };
  return { url, port: Number(new URL(url).port), stop };
}

async function call(url, method, path, body) {
  const reply = await fetch(new URL(path, url), { method, body: body && JSON.stringify(body) });
  const answer = await reply.json();
  assert.ok(reply.ok, `${method} ${path}: ${JSON.stringify(answer)}`);
  return answer;
}

function made(name, trials, epochs = 20, seed = 0, objectives = 1) {
  const folder = join(home, name);
  if (existsSync(folder)) return folder;
  mkdirSync(folder, { recursive: true });
  const part = name.split("/").pop();
  execFileSync(MADE_UP, [name.includes("/") ? folder : join(folder, part), trials, epochs, seed, objectives].map(String));
  return folder;
}

// Two studies in one folder.
const several = () => { made("several/baseline", 60, 20, 1); made("several/wider", 90, 20, 2); };

const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

// A page that has drawn all of `records`, and whatever went wrong in it.
async function opened(url, { width = 1280, height = 900, dark = false, records } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light" });
  const page = await context.newPage();
  page.wrong = [];
  page.on("pageerror", (error) => page.wrong.push(String(error)));
  page.on("console", (message) => { if (message.type() === "error" && !/ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY/.test(message.text())) page.wrong.push(message.text()); });
  await page.goto(url);
  if (records) await until(`${records} records are drawn`, () => page.evaluate((n) => Number(document.documentElement.dataset.drawn) >= n, records), 120);
  return page;
}
async function closed(page) {
  assert.deepEqual(page.wrong, [], "errors in the page");
  await page.context().close();
}
const count = async (url, name) => (await call(url, "GET", `/api/studies/${name}/records`)).records.length;

const tests = {
  async "first paint of 1,000 and 10,000 trials"() {
    for (const [trials, limit, runs] of [[1000, 1000, 5], [10000, 2000, 3]]) {
      const server = await serve(made(`first-${trials}`, trials)), name = `first-${trials}`, records = await count(server.url, name), times = [];
      let shown = 0;
      for (let run = 0; run < runs; run++) {
        const page = await opened(server.url, { records });
        // since the navigation began, and once the frame is on the screen
        times.push(await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done([Math.round(drawnAt), Math.round(took), Math.round(performance.now())]))))));
        shown = await page.evaluate(() => state.trials.size);
        await closed(page);
      }
      const drawn = times.map(([at]) => at).sort((a, b) => a - b), middle = drawn[Math.floor(runs / 2)];
      assert.equal(shown, trials, "all trials are drawn");
      console.log(`  ${trials} trials, ${records} records: all drawn after ${drawn.join(", ")} ms; one drawing takes ${times.map(([, ms]) => ms).join(", ")} ms; next frame at ${times.map(([, , ms]) => ms).join(", ")} ms`);
      assert.ok(middle <= limit, `${trials} curves are drawn after ${middle} ms`);
      await server.stop();
    }
  },

  async "10,000 trials can be sorted, filtered and walked through"() {
    const server = await serve(made("first-10000", 10000)), records = await count(server.url, "first-10000");
    const page = await opened(server.url, { records }), times = {};
    const time = (name, act) => page.evaluate(act).then((ms) => { times[name] = Math.round(ms); });
    await time("sort", () => { const began = performance.now(); document.querySelector("#trials thead button").click(); return performance.now() - began; });
    await time("filter", () => { const began = performance.now(); const box = document.getElementById("filter"); box.value = "stopped adam"; box.oninput(); return performance.now() - began; });
    await time("scroll", () => { const began = performance.now(); const rows = document.getElementById("rows"); rows.scrollTop = 50000; rows.onscroll(); return performance.now() - began; });
    await time("choose", () => { const began = performance.now(); document.querySelector("#trials tbody button").click(); return performance.now() - began; });
    console.log(`  ${JSON.stringify(times)} ms`);
    assert.ok(Object.values(times).every((ms) => ms < 1000), JSON.stringify(times));
    assert.ok(await page.evaluate(() => document.querySelectorAll("#trials tbody tr").length) < 80, "only rows in sight are in the document");
    assert.match(await page.textContent("#bands-legend"), /middle 50 % and 90 %/);
    await closed(page); await server.stop();
  },

  async "colors say the result, stopped trials stand at their forecasts, scales are those that were declared"() {
    several();
    const server = await serve(join(home, "several")), records = await count(server.url, "baseline"), page = await opened(`${server.url}#/baseline/overview`, { records });
    const { kinds, drawn, apart, logs } = await page.evaluate(() => {
      const pixels = (id) => { const own = document.getElementById(id), { data } = own.getContext("2d").getImageData(0, 0, own.width, own.height), found = new Set(); for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) found.add("#" + [0, 1, 2].map((k) => data[i + k].toString(16).padStart(2, "0")).join("")); return found; };
      const there = pixels("curves"), leading = byShade([...state.trials.values()]);
      return {
        kinds: leading.length, drawn: shades().filter((shade) => there.has(shade)).length,
        apart: plot.dots.filter(({ trial, top }) => trial.state === "stopped" && Math.abs(top - plot.y(trial.forecast.mean)) < 0.01).length,
        logs: ["lr", "width", "dropout", "depth"].map((name) => Boolean(scale(name).log)),
      };
    });
    assert.ok(kinds > 8 && drawn > 8, `${kinds} shades, ${drawn} of them in the picture`);
    assert.ok(apart > 5, `${apart} stopped trials stand at their forecasts`);
    assert.deepEqual(logs, [true, true, false, false], "log and logint are logarithmic, float and int are not");
    await closed(page); await server.stop();
  },

  async "a brush looks at some trials, the filter says which, and a tip is never cut"() {
    several();
    const server = await serve(join(home, "several")), page = await opened(`${server.url}#/baseline/overview`, { records: await count(server.url, "baseline") });
    await page.evaluate(() => document.getElementById("parallel").scrollIntoView({ block: "center" }));
    const place = (name, share) => page.evaluate(([name, share]) => { const box = document.getElementById("parallel").getBoundingClientRect(), axis = parallels.axes.find((axis) => axis.name === name); return [box.left + axis.x, box.top + parallels.y(share)]; }, [name, share]);
    const drag = async (name, from, to) => { await page.mouse.move(...await place(name, from)); await page.mouse.down(); await page.mouse.move(...await place(name, (from + to) / 2)); await page.mouse.move(...await place(name, to)); await page.mouse.up(); };
    await drag("lr", 0.25, 0.75);
    const text = await page.inputValue("#filter");
    const [low, high] = text.match(/^lr=(.+)\.\.(.+)$/).slice(1).map(Number);
    assert.ok(low > 8e-4 && low < 1.2e-3 && high > 0.08 && high < 0.12, `from a quarter to three quarters of 1e-4 … 1 by logarithm: ${text}`);
    const seen = () => page.evaluate(() => kept.map(({ configuration: c }) => [c.lr, c.optimizer]));
    assert.ok((await seen()).length > 5 && (await seen()).every(([lr]) => lr >= low && lr <= high), "the table has these alone");
    await drag("optimizer", 0, 0.2);
    assert.match(await page.inputValue("#filter"), /optimizer=adam$/);
    assert.ok((await seen()).every(([, optimizer]) => optimizer === "adam"));
    assert.match(page.url(), /filter=lr.*optimizer/, "the address has it");
    await page.mouse.click(...await place("lr", 0.5));
    assert.equal(await page.inputValue("#filter"), "optimizer=adam", "a click on the axis takes its brush back");
    await page.fill("#filter", "state=stopped epochs<10 depth=2..5");
    assert.ok(await page.evaluate(() => kept.length > 0 && kept.every((t) => t.state === "stopped" && t.epochs < 10 && t.configuration.depth <= 5)));
    await page.click("#unfilter");
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 800 }); await sleep(300);
      await page.evaluate(() => { document.getElementById("curves").scrollIntoView({ block: "center" }); });
      const dots = await page.evaluate(() => { const box = document.getElementById("curves").getBoundingClientRect(); return plot.dots.map(({ left, top }) => [box.left + left, box.top + top]).sort((a, b) => b[0] - a[0]).slice(0, 3); });
      for (const dot of dots) {
        await page.mouse.move(...dot);
        const tip = await page.evaluate(() => { const tip = document.getElementById("tip"), { left, right, top, bottom } = tip.getBoundingClientRect(); return { hidden: tip.hidden, inside: left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight, text: tip.textContent, cut: tip.scrollWidth > tip.clientWidth }; });
        assert.ok(!tip.hidden && tip.inside && !tip.cut, `${width}: ${JSON.stringify(tip)}`);
        assert.match(tip.text, /lr.*optimizer.*width/);
      }
    }
    await closed(page); await server.stop();
  },

  async "curves are enlarged, smoothed and drawn by logarithm, columns are chosen, notes are kept"() {
    const server = await serve(made("closer", 40)), page = await opened(`${server.url}#/closer/overview`, { records: await count(server.url, "closer") });
    const seen = () => page.evaluate(() => ({ part: looking.part, log: plot.box.log, low: plot.box.low, end: plot.box.end }));
    await page.evaluate(() => document.getElementById("curves").scrollIntoView({ block: "center" }));
    const place = (x, y) => page.evaluate(([x, y]) => { const box = document.getElementById("curves").getBoundingClientRect(), { left, right, top, bottom } = plot.box; return [box.left + left + (right - left) * x, box.top + top + (bottom - top) * y]; }, [x, y]);
    const whole = await seen();
    await page.mouse.move(...await place(0.5, 0)); await page.mouse.down(); await page.mouse.move(...await place(0.8, 0.3)); await page.mouse.move(...await place(1, 0.5)); await page.mouse.up();
    await until("the part is drawn", async () => (await seen()).low > whole.low);
    const part = await seen();
    assert.ok(Math.abs(part.part[0] - whole.end / 2) < 0.2 && Math.abs(part.end - whole.end) < 0.2, JSON.stringify(part));
    assert.equal(await page.evaluate(() => chosen), null, "dragging opens no trial");
    await page.click("#unzoom");
    await until("the whole is drawn", async () => (await seen()).part === null && Math.abs((await seen()).low - whole.low) < 1e-9);
    await page.check("#log-y"); await until("the axis is logarithmic", async () => (await seen()).log);
    await page.evaluate(() => { const smooth = /** @type {any} */ (document.getElementById("smooth")); smooth.value = "0.8"; smooth.oninput(); });
    const [first, last, own] = await page.evaluate(() => { const trial = plot.trials[0], values = seenValues(trial); return [values[0] - trial.values[0], values.length - trial.values.length, values.at(-1) - trial.values.at(-1)]; });
    assert.ok(Math.abs(first) < 1e-12 && last === 0 && own !== 0, "an exponential mean that begins at the first value");
    await page.goto(`${server.url}#/closer/trials`); await until("the table is there", () => page.evaluate(() => kept.length === 40));
    await page.click("#column-choice summary"); await page.uncheck('#column-boxes input[value="why"]');
    await until("the column is gone", () => page.evaluate(() => ![...document.querySelectorAll("#trials thead button")].some((button) => button.textContent === "why")));
    await page.check('#column-boxes input[value="why"]');
    await page.goto(`${server.url}#/closer/settings`); await page.fill("#notes-text", "first try #baseline #small"); await page.click("#notes-form button");
    await until("it is saved", async () => await page.textContent("#noted") === "saved");
    assert.equal(await page.textContent("#tags"), "#baseline #small");
    assert.equal((await call(server.url, "GET", "/api/studies/closer/note")).text, "first try #baseline #small");
    await closed(page); await server.stop();
  },

  async "rows open; study, view, trial and filter have an address; back and forward work"() {
    several();
    const server = await serve(join(home, "several")), page = await opened(`${server.url}#/baseline/trials`, { records: await count(server.url, "baseline") });
    const third = await page.evaluate(() => kept[2].id);
    await page.click(`[data-trial="${third}"]`);
    assert.equal(await page.getAttribute(`[data-trial="${third}"]`, "aria-expanded"), "true");
    const panel = () => page.textContent("tr.open #why");
    assert.match(await panel(), /Parameters.*lr.*Metrics.*val_acc.*loss/s);
    await until("all metrics are drawn", () => page.evaluate(() => document.querySelectorAll("tr.open canvas.metric").length === 1));
    assert.match(page.url(), new RegExp(`#/baseline/trials\\?trial=${third}$`));
    await page.click(`[data-trial="${third}"]`);
    assert.equal(await page.locator("tr.open").count(), 0, "a second click closes it");
    await page.goBack(); await until("back opens it", async () => await page.locator("tr.open #why").count() === 1);
    await page.goForward(); await until("forward closes it", async () => await page.locator("tr.open").count() === 0);
    const other = await opened(`${server.url}#/wider/trials?trial=17&filter=adam`, { records: await count(server.url, "wider") });
    await until("the trial of the address is open", async () => /Trial 17/.test(await other.textContent("#why-title")));
    assert.equal(await other.inputValue("#filter"), "adam");
    assert.equal(await other.textContent("#title"), "wider");
    await other.click("#views a[data-view=parameters]");
    await until("the slices are drawn", () => other.evaluate(() => document.querySelectorAll("#slice-box canvas").length === 5));
    await until("the contour is drawn", () => other.evaluate(() => dotted.get("contour")?.length > 20));
    assert.match(await other.getAttribute("#contour-spread", "aria-label"), /standard deviation over \w+ and \w+, from [\d.e-]+ to/);
    assert.match(other.url(), /#\/wider\/parameters\?trial=17&filter=adam$/);
    await closed(other);
    const plain = await opened(server.url, { records: 10 });
    await until("the page opens the study that was written last", async () => (await plain.textContent("#title")) === "wider");
    await closed(plain); await closed(page); await server.stop();
  },

  async "the front of two and of three objectives, its limits and its hypervolume; nothing of it with one"() {
    several(); made("fronts/two", 60, 20, 1, 2); made("fronts/three", 60, 20, 2, 3);
    const server = await serve(join(home, "fronts")), plain = await serve(join(home, "several"));
    const alone = await opened(plain.url, { records: 10 });
    assert.ok(await alone.isHidden("#front"), "one objective has no front");
    await closed(alone); await plain.stop();
    for (const [name, axes] of [["two", 2], ["three", 3]]) for (const dark of [false, true]) for (const width of [1280, 400]) {
      const page = await opened(`${server.url}#/${name}/overview`, { records: await count(server.url, name), width, dark });
      const known = JSON.parse(execFileSync(FORETELL, ["study", "front", join(home, "fronts", name), "--format", "json"]));
      const { shown, dots, limits, stopped } = await page.evaluate(() => ({
        shown: { trials: state.front.trials.map(({ trial }) => trial), growth: state.front.growth }, dots: dotted.get("front-picture").length,
        limits: objectives().map((_, at) => limitsOf(at)), stopped: placed().filter(({ kind, interval }) => kind === "stopped" && interval).length,
      }));
      assert.deepEqual(shown, { trials: known.trials.map(({ trial }) => trial), growth: known.growth }, "the page has the terminal's front");
      assert.equal(dots, known.trials.length + known.dominated.length + known.stopped.length);
      assert.equal(stopped, known.stopped.length); assert.ok(stopped > 3, `${stopped} stopped`);
      assert.deepEqual(limits, axes === 2 ? [[], []] : [[], [], [40]]);
      assert.match(await page.textContent("#front-note"), /on the front of val_acc, width.*Expected coverage/);
      assert.equal(await page.isVisible("#front-axes"), axes === 3);
      if (axes === 3) { await page.selectOption("#front-x", { label: "latency" }); assert.match(await page.getAttribute("#front-picture", "aria-label"), /val_acc against latency/); }
      assert.match(await page.getAttribute("#front-growth", "aria-label"), /hypervolume against epochs spent: 0\.\d+ after/);
      await page.evaluate(() => document.getElementById("front").scrollIntoView());
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is no wider than the window");
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run("#front"));
      assert.deepEqual(violations.map(({ id }) => id), []);
      const dot = await page.evaluate(() => { const box = document.getElementById("front-picture").getBoundingClientRect(), { left, top } = dotted.get("front-picture").at(-1); return [box.left + left, box.top + top]; });
      if (SHOTS) await page.locator("#front").screenshot({ path: join(SHOTS, `front-${name}-${width}-${dark ? "dark" : "light"}.png`) });
      await page.mouse.move(...dot);
      assert.match(await page.textContent("#tip"), /on the front: val_acc 0\.\d+, width \d+/);
      await closed(page);
    }
    await server.stop();
    const folder = join(home, "no-front"); mkdirSync(folder);
    const empty = await serve(folder);
    await call(empty.url, "PUT", "/api/studies/no-front", { space: { lr: "log:1e-4:1" }, objective: ["val_acc", "lr:min"], epochs: 2, trials: 3 });
    const page = await opened(empty.url, { records: 1 });
    assert.match(await page.textContent("#front-note"), /no front yet/);
    assert.ok(await page.isHidden("#front-picture"));
    await call(empty.url, "POST", "/api/studies/no-front/ask");
    for (const step of [1, 2]) await call(empty.url, "POST", "/api/studies/no-front/trials/0/report", { step, value: 0.5 });
    await call(empty.url, "POST", "/api/studies/no-front/trials/0/tell");
    await until("the first trial is the front", async () => /One trial is on the front/.test(await page.textContent("#front-note")));
    await closed(page); await empty.stop();
  },

  async "results are taken away as files, and a configuration is tried next"() {
    several();
    const server = await serve(join(home, "several")), page = await opened(`${server.url}#/baseline/settings`, { records: await count(server.url, "baseline") });
    const taken = async (name) => { const [file] = await Promise.all([page.waitForEvent("download"), page.click(`[data-download="${name}"]`)]); return readFileSync(await file.path(), "utf8"); };
    const exported = execFileSync(FORETELL, ["study", "export", join(home, "several/baseline"), "--trials", "--format", "csv"], { encoding: "utf8" }).split("\n"), trials = (await taken("trials.csv")).split("\n");
    const names = exported[0].split(","), own = trials[0].split(",");
    assert.deepEqual(own, names, "the columns of foretell study export");
    assert.equal(trials.length, exported.length);
    for (let i = 1; i < 20; i++) for (const name of ["trial", "state", "score", "epochs", "last", "began"]) assert.equal(trials[i].split(",")[own.indexOf(name)], exported[i].split(",")[names.indexOf(name)], name);
    assert.equal(JSON.parse(await taken("trials.json")).length, 60);
    assert.match(await taken("curves.csv"), /^trial,step,val_acc\n0,1,0\.\d+\n0,2,/);
    const curves = join(home, "curves.jsonl"); writeFileSync(curves, await taken("curves.jsonl"));
    assert.match(execFileSync(FORETELL, ["forecast", curves, "--help"], { encoding: "utf8" }), /Usage/);
    assert.match(await page.textContent("#all-settings"), /epochs20/);
    await page.fill('#enqueue-fields [name="lr"]', "0.02"); await page.selectOption('#enqueue-fields [name="optimizer"]', "sgd");
    await page.click("#enqueue-form button");
    await until("it is enqueued", async () => /tried next/.test(await page.textContent("#enqueued")));
    const { records } = await call(server.url, "GET", "/api/studies/baseline/records");
    assert.match(JSON.stringify(records.slice(-2)), /"lr":0\.02/);
    await page.fill('#enqueue-fields [name="lr"]', "7"); await page.click("#enqueue-form button");
    await until("what is wrong is said", async () => /lr/.test(await page.textContent("#enqueued")));
    page.wrong = page.wrong.filter((text) => !/400/.test(text));
    await closed(page); await server.stop();
  },

  async "live updates, and a server that is started anew: no event lost or doubled"() {
    const folder = join(home, "live"); mkdirSync(folder);
    const first = await serve(folder);
    await call(first.url, "PUT", "/api/studies/live", { space: { lr: "log:1e-4:1" }, metric: "val_acc", epochs: 30, trials: 8, burn_in: 4 });
    const page = await opened(first.url, { records: 1 });
    const { start } = await call(first.url, "POST", "/api/studies/live/ask");
    const report = (url, step) => call(url, "POST", `/api/studies/live/trials/${start.trial}/report`, { step, value: 0.5 + step / 100 });
    const seen = () => page.evaluate(() => ({ records: state.records, steps: state.trials.get(0)?.steps ?? [], drawn: Number(document.documentElement.dataset.drawn) }));
    for (let step = 1; step <= 3; step++) {
      const began = Date.now();
      await report(first.url, step);
      await until(`step ${step} is shown`, async () => { const now = await seen(); return now.steps.includes(step) && now.drawn === now.records; });
      assert.ok(Date.now() - began < 2000, `a report is shown after ${Date.now() - began} ms`);
    }
    for (let round = 0; round < 3; round++) {
      await first.stop();
      await until("the page says so", async () => /does not answer/.test(await page.textContent("#live")));
      // meanwhile the study goes on
      const other = await serve(folder);
      for (let step = 4 + 5 * round; step < 9 + 5 * round; step++) await report(other.url, step);
      await other.stop();
      const again = await serve(folder, { port: first.port });
      first.stop = again.stop;
      await until("the page is live again", async () => /^(live|the search has ended)$/.test(await page.textContent("#live")), 30);
      const { records } = await call(first.url, "GET", "/api/studies/live/records");
      await until("the page has caught up", async () => (await seen()).records === records.length);
      const steps = records.filter((record) => record.event === "reported").map((record) => record.step);
      assert.deepEqual((await seen()).steps, steps, "the page's curve is the log's");
    }
    await closed(page); await first.stop();
  },

  async "a study that is raised shows its new total, and a damaged log what is wrong with it"() {
    const folder = join(home, "raised"), log = join(folder, "raised/events.jsonl"); mkdirSync(folder);
    const server = await serve(folder), settings = { space: { lr: "log:1e-4:1" }, metric: "val_acc", epochs: 2, trials: 3, burn_in: 3 };
    await call(server.url, "PUT", "/api/studies/raised", settings);
    for (let trial = 0; trial < 3; trial++) {
      await call(server.url, "POST", "/api/studies/raised/ask");
      for (const step of [1, 2]) await call(server.url, "POST", `/api/studies/raised/trials/${trial}/report`, { step, value: 0.5 + trial / 10 });
      await call(server.url, "POST", `/api/studies/raised/trials/${trial}/tell`);
    }
    const page = await opened(server.url, { records: 13 }), totals = () => page.textContent("#totals");
    assert.match(await totals(), /trials3 of 3/);
    await call(server.url, "PUT", "/api/studies/raised", { ...settings, trials: 6, update: true });
    await until("the new total is shown", async () => /trials3 of 6/.test(await totals()));
    await call(server.url, "POST", "/api/studies/raised/ask");
    await until("the next trial is shown", async () => /trials4 of 6running1/.test(await totals()));
    const file = join(home, "raised.html");
    execFileSync(FORETELL, ["report", join(folder, "raised"), "--out", file], { stdio: "ignore" });
    const other = await opened("file://" + file);
    assert.match(await other.textContent("#totals"), /trials4 of 6running1/, "the page in a file shows the same");
    await closed(other);
    const sound = readFileSync(log, "utf8");
    writeFileSync(log, sound + "{}\n{}\n");
    await until("the damage is said", async () => /line \d+/.test(await page.textContent("#live")));
    writeFileSync(log, sound);
    await until("the page is live again", async () => /^(live|the search has ended)$/.test(await page.textContent("#live")));
    assert.match(await totals(), /trials4 of 6/);
    await closed(page); await server.stop();
  },

  async "a person stops and keeps trials from the page, by the keyboard alone"() {
    const folder = join(home, "hand"); mkdirSync(folder);
    const server = await serve(folder);
    await call(server.url, "PUT", "/api/studies/hand", { space: { lr: "log:1e-4:1" }, metric: "val_acc", epochs: 30, trials: 8, burn_in: 4 });
    for (let trial = 0; trial < 4; trial++) {
      await call(server.url, "POST", "/api/studies/hand/ask");
      await call(server.url, "POST", `/api/studies/hand/trials/${trial}/report`, { step: 1, value: 0.5 + trial / 10 });
    }
    const page = await opened(server.url, { records: 9 });
    const key = (name) => page.keyboard.press(name), active = () => page.evaluate(() => document.activeElement.dataset.trial ?? document.activeElement.id);
    await page.focus("#rows"); await key("Tab"); // the headings are before the rows
    for (let i = 0; i < 12 && !/^\d+$/.test(await active()); i++) await key("Tab");
    assert.equal(await active(), "3", "the best trial is first");
    await key("End"); assert.equal(await active(), "0");
    await key("Home"); await key("ArrowDown"); assert.equal(await active(), "2");
    await key("Enter"); assert.equal(await active(), "why-title");
    assert.match(await page.textContent("#why-title"), /Trial 2: running/);
    await key("Tab"); assert.equal(await active(), "stop");
    await key("Enter"); assert.equal(await active(), "no", "nothing is stopped by one key");
    await key("Escape"); assert.equal(await active(), "stop");
    await key("Enter"); await key("Shift+Tab"); assert.equal(await active(), "yes");
    await key("Enter");
    await until("it is stopped", async () => /stopped manually/.test(await page.textContent("#why-title")));
    await page.click('[data-trial="1"]'); await page.focus("#keep"); await key("Enter");
    await until("it is kept", async () => /kept/.test(await page.textContent("#why-title")));
    assert.equal((await call(server.url, "GET", "/api/studies/hand/trials/2/should_stop")).stop, true);
    const { records } = await call(server.url, "GET", "/api/studies/hand/records");
    assert.deepEqual(records.filter((record) => record.event === "decided").map(({ trial, reason }) => [trial, reason]).slice(-2), [[2, "by_hand"], [1, "kept"]]);
    await page.focus("#filter"); await page.keyboard.type("manual");
    assert.match(await page.textContent("#shown"), /1 of 4/);
    await closed(page); await server.stop();
  },

  async "a running search obeys the page"() {
    const folder = join(home, "search"), script = "for i in $(seq 1 400); do echo val_acc=0.$((100 + {x} + i)); sleep 0.05; done";
    const words = ["search", "--param", "x=int:1:9", "--metric", "val_acc", "--epochs", "400", "--trials", "3", "--burn-in", "3", "--workers", "2", "--serve=127.0.0.1:0", "--out", folder, "--", "sh", "-c", script];
    const search = spawn(FORETELL, words, { stdio: ["ignore", "ignore", "pipe"] });
    servers.push(search);
    let said = "";
    search.stderr.on("data", (text) => { said += text; });
    const url = await until("the search serves", () => said.match(/live in the browser: (\S+)/)?.[1] ?? (search.exitCode !== null && assert.fail(said)));
    const page = await opened(url, { records: 5 });
    await page.click('[data-trial="0"]'); await page.click("#stop"); await page.click("#yes");
    await until("trial 0 is stopped", async () => /Trial 0: stopped manually/.test(await page.textContent("#why-title")));
    await until("its worker has the next trial", () => page.evaluate(() => state.trials.get(2)?.steps.length > 0));
    await page.click('[data-trial="2"]');
    await until("what it prints is shown", async () => /val_acc=0\.\d+/.test(await page.textContent("#output")));
    const before = (await page.textContent("#output")).length;
    await until("and what it prints then", async () => (await page.textContent("#output")).length > before);
    assert.match(await page.textContent("#command"), /^sh -c 'for i in/);
    search.kill("SIGINT");
    await until("the search ends", () => search.exitCode !== null);
    const shown = JSON.parse(execFileSync(FORETELL, ["study", "show", folder, "0", "--format", "json"]));
    assert.match(JSON.stringify(shown), /by_hand/);
    page.wrong = []; // its server is gone
    await closed(page);
  },

  async "strangers are refused"() {
    const server = await serve(made("first-1000", 1000), { token: "key" }), free = await serve(join(home, "first-1000"));
    const status = (port, path, headers = {}, method = "GET") => new Promise((done, wrong) => {
      request({ host: "127.0.0.1", port, path, method, headers }, (reply) => { reply.resume(); done(reply.statusCode); }).on("error", wrong).end();
    });
    for (const [port, path, headers, method, expected] of [
      [server.port, "/", {}, "GET", 401], [server.port, "/api/studies", {}, "GET", 401], [server.port, "/?token=kez", {}, "GET", 401],
      [server.port, "/api/studies", { Authorization: "Bearer key" }, "GET", 200], [server.port, "/api/studies/first-1000/trials/999/stop", {}, "POST", 401],
      [free.port, "/api/studies", { Host: "evil.example" }, "GET", 403], [free.port, "/api/studies", { Host: "127.0.0.1.evil.example" }, "GET", 403],
      [free.port, "/api/studies/first-1000/trials/999/stop", { Origin: "http://evil.example" }, "POST", 403],
      [free.port, "/api/studies/first-1000/trials/999/stop", { Origin: "null" }, "POST", 403],
      [free.port, "/api/studies/%2e%2e%2f/records", {}, "GET", 404], [free.port, "/api/studies/..%2ffirst-10000%2ffirst-10000/records", {}, "GET", 404], [free.port, "/../../etc/passwd", {}, "GET", 404],
    ]) assert.equal(await status(port, path, headers, method), expected, `${method} ${path} ${JSON.stringify(headers)}`);
    const page = await opened(server.url, { records: 100 });
    assert.match(await page.textContent("#live"), /^(live|the search has ended)$/, "the address with the token works, its events, too");
    await closed(page);
    // another page in the same browser
    const stranger = createServer((_, reply) => { reply.setHeader("content-type", "text/html"); reply.end("<!doctype html><link rel=icon href=data:,><title>x</title>"); }).listen(0, "127.0.0.1");
    await until("the stranger listens", () => stranger.listening);
    const other = await (await browser.newContext()).newPage();
    await other.goto(`http://127.0.0.1:${stranger.address().port}/`);
    const path = `${free.url}api/studies/first-1000/trials/999/stop`;
    const tried = await other.evaluate(async (path) => {
      const read = await fetch(path.replace(/api.*/, "api/studies")).then(() => "read").catch(() => "refused");
      await fetch(path, { method: "POST", mode: "no-cors" }).catch(() => null);
      return read;
    }, path);
    assert.equal(tried, "refused");
    const { records } = await call(free.url, "GET", "/api/studies/first-1000/records");
    assert.ok(!records.some((record) => record.reason === "by_hand"), "nobody elsewhere stops a trial");
    await other.context().close(); stranger.close(); await server.stop(); await free.stop();
  },

  async "no curve is bent to the frame, a reason comes first, and only failures have their color"() {
    several();
    const file = join(home, "bent.html");
    execFileSync(FORETELL, ["report", join(home, "several/baseline"), "--out", file], { stdio: "ignore" });
    const page = await opened("file://" + file, { records: 1 });
    const found = await page.evaluate(() => {
      const { box, y } = plot,
        height = box.high - box.low,
        failed = { state: "failed", outcome: { value: null } },
        silent = { state: "running", outcome: { value: null } },
        bars = [...document.querySelectorAll("#importance-bars li > span:last-child")].map((bar) => parseFloat(bar.textContent)),
        least = [ticks(0.41, 0.59, 2), ticks(0.1, 1.9, 2), ticks(7, 7.02, 2)].map((found) => found.length);
      return {
        over: y(box.high + height) < box.top - 10,
        under: y(box.low - height) > box.bottom + 10,
        sum: bars.reduce((a, b) => a + b, 0),
        reason: reason({ why: "exit code 1; last output:\n  loading\n  ValueError: too large" }),
        short: reason({ why: "diverged" }),
        isFailed: [shadeOf(failed) === color("failed"), shadeOf(silent) === color("failed")],
        least: Math.min(...least),
        charts: (choose([...state.trials.values()].find((trial) => trial.values.length > 2).id), document.querySelectorAll("#metrics-curves canvas").length),
        settings: (look({ view: "settings", trial: null, filter: "" }), draw(), document.querySelector("#all-settings").textContent),
      };
    });
    assert.ok(found.over && found.under, "a value outside of the frame is drawn outside of it");
    assert.ok(Math.abs(found.sum - 100) <= 3, `importances sum to ${found.sum} %`);
    assert.equal(found.reason, "ValueError: too large (exit code 1)");
    assert.equal(found.short, "diverged");
    assert.deepEqual(found.isFailed, [true, false]);
    assert.ok(found.least >= 2, "an axis has two numbers at least");
    assert.ok(found.charts >= 1, "the metric has a chart of its own");
    assert.match(found.settings, /epochs20/);
    assert.ok(!/[{}]|max.resource|criterion/.test(found.settings), found.settings);
    await closed(page);
  },

  async "axe finds nothing in any view, in light and dark, at three widths"() {
    several();
    const server = await serve(join(home, "several")), records = await count(server.url, "baseline");
    const file = join(home, "report.html");
    execFileSync(FORETELL, ["report", join(home, "several/baseline"), "--out", file], { stdio: "ignore" });
    const views = ["overview", "parameters", "trials", "settings", "compare"];
    for (const dark of [false, true]) for (const width of [1280, 800, 400]) for (const url of [server.url, "file://" + file]) for (const view of views) {
      const live = url === server.url;
      if (!live && view === "compare") continue;
      const page = await opened(`${url}#/baseline/${view}`, { width, dark, records });
      await until("the importance is known", () => page.evaluate(() => known.importance !== null));
      if (view === "parameters") await until("the contour is drawn", () => page.evaluate(() => dotted.get("contour")?.length > 20));
      if (live && view === "compare") await until("studies are compared", () => page.evaluate(() => document.querySelectorAll("#side-by-side tbody tr").length === 2));
      await page.evaluate(() => { if (["overview", "trials"].includes(view)) choose([...state.trials.values()].find((trial) => trial.state === "running").id); });
      await sleep(300);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `the page is ${wide} px wider than ${width}: ${view}`);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run());
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`);
      assert.deepEqual(found, [], `${view} ${width} ${dark ? "dark" : "light"} ${live ? "live" : "file"}`);
      if (SHOTS) await page.screenshot({ path: join(SHOTS, `${live ? "live" : "file"}-${view}-${width}-${dark ? "dark" : "light"}.png`), fullPage: true });
      await closed(page);
    }
    await server.stop();
    if (SHOTS) await shots();
  },
};

// The other views, to be looked at.
async function shots() {
  for (const trials of [1000, 10000]) {
    const name = `first-${trials}`, server = await serve(made(name, trials)), records = await count(server.url, name);
    for (const dark of [false, true]) {
      const page = await opened(server.url, { dark, records });
      await until("the importance is shown", () => page.evaluate(() => document.querySelectorAll("#importance-bars li").length > 1));
      await page.screenshot({ path: join(SHOTS, `${name}-${dark ? "dark" : "light"}.png`), fullPage: true });
      await closed(page);
    }
    await server.stop();
  }
}

let failed = 0;
const only = process.argv[2];
try {
  for (const [name, test] of Object.entries(tests)) {
    if (only && !name.includes(only)) continue;
    const began = Date.now();
    try {
      await test();
      console.log(`ok    ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL  ${name}\n${error.stack}`);
    }
  }
} finally {
  servers.forEach((server) => server.kill("SIGKILL"));
  await browser.close();
  rmSync(home, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);
