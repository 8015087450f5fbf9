/** The nodes of a record out of the columns in which they travel. Knows no DOM. */
import type { ColumnEntry, NodeForm, NodeTable } from "./trace";
import type { Numbers } from "./wire";

/** One value of the forward pass; arrays and shares by their positions in their tables. */
export interface NodeEntry extends Omit<NodeForm, "arity" | "saved"> {
  readonly name: string | null;
  readonly inputs: number[];
  readonly value: number;
  readonly saved: Record<string, number>;
  readonly shares: number[];
  readonly cotangent: number;
}

export function nodesOf(table: NodeTable, column: (entry: ColumnEntry) => Numbers): NodeEntry[] {
  const [form, name, inputs] = [column(table.form), column(table.name), column(table.inputs)];
  const [value, saved, shares] = [column(table.value), column(table.saved), column(table.shares)];
  const cotangent = column(table.cotangent);
  let [input, kept, share] = [0, 0, 0];
  return Array.from({ length: form.length }, (_, id) => {
    const { arity, saved: names, ...common } = table.forms[form[id] ?? -1] as NodeForm;
    const entry: NodeEntry = {
      ...common,
      name: table.names[name[id] ?? -1] ?? null,
      inputs: Array.from(inputs.subarray(input, input + arity)),
      value: value[id] ?? -1,
      saved: Object.fromEntries(names.map((word, i) => [word, saved[kept + i] ?? -1])),
      shares: Array.from({ length: shares[id] ?? 0 }, (_, k) => share + k),
      cotangent: cotangent[id] ?? -1,
    };
    input += arity;
    kept += names.length;
    share += entry.shares.length;
    return entry;
  });
}
