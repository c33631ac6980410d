// The book in a real browser: `scripts/test-book` builds it and runs this.
//
// Environment: BOOK (the folder of the built book), CHROMIUM, and SHOTS (a folder for screenshots; none without).
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { chromium } from "playwright-core";

const { BOOK, CHROMIUM, SHOTS } = process.env;
const SHOWN = ["index", "tutorial/first-search", "explanation/stopping", "reference/commands/search"];
const axe = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

const pages = readdirSync(BOOK, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".html") && !["toc.html", "print.html", "404.html"].includes(entry.name))
  .map((entry) => relative(BOOK, join(entry.parentPath ?? entry.path, entry.name)).replace(/\.html$/, ""))
  .sort();

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"] });
const faults = [];
for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"]]) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
  const page = await context.newPage();
  for (const name of pages) {
    const say = (what) => faults.push(`${name} at ${width} px, ${scheme}: ${what}`);
    await page.goto(`file://${BOOK}/${name}.html`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    if (wide > 0) say(`${wide} px wider than the window`);
    const text = await page.evaluate(() => {
      const main = document.querySelector("main"), edge = main.getBoundingClientRect().right;
      const over = [...main.querySelectorAll("p, li, pre, img, .table-wrapper")].filter((part) => part.getBoundingClientRect().right > edge + 1);
      return over.map((part) => part.tagName + " " + part.textContent.slice(0, 40));
    });
    for (const part of text.slice(0, 2)) say(`wider than the text: ${part}`);
    const missing = await page.evaluate(() => [...document.images].filter((image) => !image.naturalWidth).map((image) => image.src));
    for (const image of missing) say(`no picture ${image}`);
    await page.evaluate(axe);
    // mdBook's own sidebar and buttons are not ours to mend
    const { violations } = await page.evaluate(() => window.axe.run("main"));
    for (const { id, nodes } of violations) say(`axe: ${id}: ${nodes.slice(0, 2).map((node) => node.html.slice(0, 120)).join(" | ")}`);
    if (SHOTS && SHOWN.includes(name)) await page.screenshot({ path: join(SHOTS, `book-${name.replace("/", "-")}-${width}-${scheme}.png`) });
  }
  await context.close();
}
await browser.close();
console.log(`${pages.length} pages in 3 looks: ${faults.length} faults`);
for (const fault of faults) console.log(fault);
process.exit(faults.length ? 1 : 0);
