// How columns of tables are declared: key, title, what it means, and the row's value. One place, so that a table is a
// list of lines, and so that missing is empty and sorts last everywhere.
import { bytes, count, duration } from "../format";
import type { TableColumn } from "./tables";

// Text: sorted by the alphabet, found by the filter.
export function text<Row>(key: string, title: string, help: string, of: (row: Row) => string): TableColumn<Row> {
  return { key, title, help, value: of };
}

export function amount<Row>(
  key: string,
  title: string,
  help: string,
  of: (row: Row) => number | null,
  show: (value: number) => string,
): TableColumn<Row> {
  return {
    key,
    title,
    help,
    value: (row) => of(row) ?? Number.NEGATIVE_INFINITY,
    show: (row) => {
      const value = of(row);
      return value === null ? "" : show(value);
    },
  };
}

type Of<Row> = (row: Row) => number | null;
export const time = <Row>(key: string, title: string, help: string, of: Of<Row>) =>
  amount(key, title, help, of, duration);
export const size = <Row>(key: string, title: string, help: string, of: Of<Row>) => amount(key, title, help, of, bytes);
export const number = <Row>(key: string, title: string, help: string, of: Of<Row>) =>
  amount(key, title, help, of, count);
