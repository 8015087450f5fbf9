/** The one bundle: a widget module for whoever imports it, and the program of a frame or page that has announced itself. */
import { boot, type FrameData } from "./frame";
import { render } from "./widget";

const announced = (globalThis as { __tensorvizFrame?: FrameData }).__tensorvizFrame;
if (announced) void boot(announced);

export default { render };
