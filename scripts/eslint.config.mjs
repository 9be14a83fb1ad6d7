// The page's scripts. What names and types mean, tsc knows better: templates/tsconfig.json.
import js from "@eslint/js";

export default [
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "no-undef": "off",
      eqeqeq: "error",
      "no-implicit-coercion": ["error", { boolean: true, number: true, string: true }],
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "error",
      "max-len": ["error", { code: 100 }],
    },
  },
];
