// Marks in the navigation which section is being read.
export function scrollSpy(nav) {
  const links = [...nav.querySelectorAll("a")].map((link) => ({ link, id: link.hash.slice(1) }));
  let marked = null;
  let asked = false;

  function mark() {
    asked = false;
    const line = Math.min(innerHeight / 3, 160);
    const passed = links.filter(({ id }) => (document.getElementById(id)?.getBoundingClientRect().top ?? Infinity) <= line);
    // The last sections may be too short to reach the line.
    const end = innerHeight + scrollY >= document.documentElement.scrollHeight - 2 && scrollY > 0;
    const here = (end ? links.findLast(({ id }) => document.getElementById(id)) : passed.at(-1)) ?? links[0];
    if (!here || here.link === marked) return;
    marked?.removeAttribute("aria-current");
    marked = here.link;
    marked.setAttribute("aria-current", "true");
    // Only the bar scrolls to it, never the page.
    nav.scrollLeft = marked.offsetLeft - nav.offsetLeft - (nav.clientWidth - marked.offsetWidth) / 2;
  }

  addEventListener("scroll", () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(mark);
  }, { passive: true });
  addEventListener("resize", mark);
  mark();
}
