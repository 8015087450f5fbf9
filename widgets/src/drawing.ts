/** Still pictures in a page's outputs: each is the light or the dark one of its two, as the page around is. The text is an inline script in each output. */
import { hostIsDark, watch } from "./theme";

async function unpacked(packed: string): Promise<string> {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const svg = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

for (const image of document.querySelectorAll<HTMLImageElement>("img[data-tensorviz-dark]")) {
  const packed = image.dataset["tensorvizDark"] ?? "";
  image.removeAttribute("data-tensorviz-dark"); // it is looked after from here on
  const light = image.src;
  const dark = unpacked(packed);
  const follow = async () => {
    const isDark = hostIsDark() ?? matchMedia("(prefers-color-scheme: dark)").matches;
    image.src = isDark ? await dark : light;
    image.dataset["scheme"] = isDark ? "dark" : "light";
  };
  const stop = watch(() => void (image.isConnected ? follow() : stop()));
  void follow();
}
