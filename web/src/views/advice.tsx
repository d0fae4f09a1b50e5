// What to do about a finding, of a recording or of a snapshot.
export function Advice({ lines }: { lines: string[] }) {
  if (lines.length === 0) return null;
  return (
    <div>
      <h4>Try</h4>
      <ul>
        {lines.map((line) => (
          <li>{line}</li>
        ))}
      </ul>
    </div>
  );
}
