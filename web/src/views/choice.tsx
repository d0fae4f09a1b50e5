// One of a few, as radio buttons beside their name.
interface Props<T extends string> {
  label: string;
  all: readonly T[];
  value: T;
  words?: Partial<Record<T, string>>; // where the value itself is not what is shown
  onChange(value: NoInfer<T>): void;
}

export function Choice<T extends string>({ label, all, value, words, onChange }: Props<T>) {
  return (
    <fieldset class="choice">
      <legend>{label}</legend>
      {all.map((one) => (
        <label>
          <input type="radio" name={label} checked={one === value} onChange={() => onChange(one)} />{" "}
          {words?.[one] ?? one}
        </label>
      ))}
    </fieldset>
  );
}
