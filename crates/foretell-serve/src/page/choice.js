// Which trial is looked at, and where it is shown.
export let chosen = null,
  asked = null,
  openIn = "home",
  reveal = false;
// Sets some of these from another file.
export function attend(change) {
  ({ chosen, asked, openIn, reveal } = { chosen, asked, openIn, reveal, ...change });
}
