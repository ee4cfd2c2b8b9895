"""Hooks of MkDocs: the menu, links to files that are not pages, and llms.txt."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / "build" / "docs"
SOURCE = "https://github.com/gantry-market/gantry/blob/main/"

# The menu: a section, and its pages or folders of pages, in this order.
MENU = {
    "Tutorials": ["docs/tutorials"],
    "Concepts": ["docs/architecture.md", "docs/questions.md", "docs/glossary.md", "docs/protocol/README.md", "docs/protocol/money-flow.md", "docs/protocol/threat-model.md", "LIMITATIONS.md"],
    "Customers": ["client/README.md", "docs/operate/templates.md", "docs/operate/models.md", "docs/operate/serve.md", "docs/operate/inference.md", "docs/operate/mcp.md", "docs/operate/teams.md", "docs/operate/credits.md", "docs/operate/sponsor.md", "clients/README.md"],
    "Providers": ["docs/operate/install.md", "agent/README.md", "docs/operate/hours.md", "docs/operate/fleet.md", "docs/operate/backup.md"],
    "Keepers": ["keeper/README.md", "docs/operate/operations.md", "docs/operate/keys.md", "docs/operate/monitoring.md", "docs/operate/sizing.md", "docs/operate/gateway.md"],
    "Reference": ["docs/protocol", "sdk/README.md", "examples/README.md"],
    "Decisions": ["docs/adr"],
    "Reports": ["docs/reports"],
    "Contribute": ["docs/contributing.md"],
}

LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")


def title(page):
    """The first heading, without its marks."""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            return line[2:].replace("`", "").strip()
    return page.stem


def summary(page):
    """The first sentence of the first paragraph, as text."""
    for block in page.read_text(encoding="utf-8").split("\n\n"):
        if block.strip() and not block.startswith(("#", "|", "```", "!", "<", "-", ">")):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(block.split())).replace("**", "")
            return re.split(r"(?<=[.:])\s", text)[0]
    return ""


def pages(entry):
    """The pages of a menu entry: the page, or all pages of the folder, its README first."""
    at = PAGES / entry
    if at.is_file():
        return [entry]
    found = sorted(at.glob("*.md"), key=lambda p: (p.name != "README.md", p.name))
    return [str(p.relative_to(PAGES)) for p in found]


def on_config(config):
    """Makes the menu. A page stands in it once, where it comes first."""
    nav, seen = [{"Gantry": "README.md"}], {"README.md"}
    for section, entries in MENU.items():
        items = []
        for entry in entries:
            if not (PAGES / entry).exists():
                raise ValueError(f"scripts/docs/hooks.py: the menu names {entry}, which does not exist")
            for page in pages(entry):
                if page not in seen:
                    seen.add(page)
                    items.append({title(PAGES / page): page})
        nav.append({section: items})
    rest = [str(p.relative_to(PAGES)) for p in sorted(PAGES.rglob("*.md"))]
    nav.append({"More": [{title(PAGES / p): p} for p in rest if p not in seen]})
    config["nav"] = nav
    return config


def on_page_markdown(markdown, page, **_):
    """Leads links to sources and folders to the repository: they are not pages."""
    here = (PAGES / page.file.src_path).parent

    def lead(match):
        path, _, anchor = match[1].partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return match[0]
        target = (here / path).resolve()
        if target.is_file():
            return match[0]
        if target.is_dir() and (target / "README.md").is_file():
            return f"]({path.rstrip('/')}/README.md{'#' + anchor if anchor else ''})"
        at = target.relative_to(PAGES)
        if not (ROOT / at).exists():
            return match[0]  # MkDocs names it
        return f"]({SOURCE}{at}{'#' + anchor if anchor else ''})"

    return LINK.sub(lead, markdown)


def on_post_build(config):
    """Writes llms.txt (https://llmstxt.org): what each page is about, for programs that read."""
    lines = [f"# {config['site_name']}", "", f"> {config['site_description']}", ""]
    for entry in config["nav"]:
        for section, items in entry.items():
            if isinstance(items, str):
                continue
            lines += [f"## {section}", ""]
            for item in items:
                for name, page in item.items():
                    lines.append(f"- [{name}]({SOURCE}{page}): {summary(PAGES / page)}")
            lines.append("")
    pathlib.Path(config["site_dir"], "llms.txt").write_text("\n".join(lines), encoding="utf-8")
