/** What every pane is given. */
import type { Session } from "../bench";
import type { Store } from "../state";
import type { Steps } from "../step";
import type { Recording } from "../wire";

export interface Context {
  readonly rec: Recording;
  readonly steps: Steps;
  readonly store: Store;
  /** The node that the inspector shows: the selected one, else the active one. */
  shown(): number;
  /** Show a node; null goes back to the active one. */
  select(id: number | null): void;
  go(step: number): void;
  /** A kind or a node becomes a breakpoint, or no longer one. */
  stopAt(point: string | number): void;
  /** Ask the kernel for something of its check. */
  ask(action: "start" | "cancel"): void;
  /** What can be changed and loaded while there is a kernel, and what stays when another run is shown. */
  readonly session: Session;
}

/** One pane: an element, and how it follows the state. */
export interface Pane {
  readonly element: HTMLElement;
  update(): void;
  /** Draw anew what is there: something that no step changes is another one now. */
  again?(): void;
  /** Called when the pane has a size, or another one. */
  resize?(): void;
}
