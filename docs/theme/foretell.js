// What scrolls sideways is reached by the keyboard.
for (const box of document.querySelectorAll("pre > code, .table-wrapper")) {
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
}
