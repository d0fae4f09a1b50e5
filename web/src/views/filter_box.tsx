// A field for part of a name: what a table keeps, what a flame graph lights up.
export function FilterBox({ label, value, onInput }: { label: string; value: string; onInput(value: string): void }) {
  return (
    <label>
      {label}{" "}
      <input type="search" value={value} onInput={(e) => onInput(e.currentTarget.value)} placeholder="part of a name" />
    </label>
  );
}
