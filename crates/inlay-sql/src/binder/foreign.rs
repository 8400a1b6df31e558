//! What functions of other systems are here, for messages about names that do not exist.

/// Names, and what to write.
const FOREIGN: [(&str, &str); 43] = [
    ("add_months", "d + INTERVAL 1 MONTH"),
    ("approx_percentile", "approx_quantile(a, 0.5)"),
    ("charindex", "instr(text, part)"),
    ("collect_list", "list(a)"),
    ("collect_set", "list(DISTINCT a)"),
    ("curdate", "today()"),
    ("date_format", "strftime(d, format)"),
    ("dateadd", "d + INTERVAL 1 DAY"),
    ("datetime", "a::TIMESTAMP"),
    ("div0", "coalesce(a / nullif(b, 0), 0)"),
    ("eomonth", "last_day(d)"),
    ("explode", "unnest(list)"),
    ("find_in_set", "list_position(string_split(list, ','), text)"),
    ("from_unixtime", "to_timestamp(seconds)"),
    ("generate_array", "generate_series(first, last)"),
    ("getdate", "now()"),
    ("iff", "if(condition, a, b)"),
    ("isnull", "coalesce(a, b)"),
    ("locate", "instr(text, part)"),
    ("mid", "substr(text, first, length)"),
    ("months_between", "date_diff('month', a, b)"),
    ("named_struct", "struct_pack(name := a)"),
    ("newid", "uuid()"),
    ("nvl2", "if(a IS NOT NULL, b, c)"),
    ("object_agg", "map(list(key), list(value))"),
    ("parse_date", "strptime(text, format)::DATE"),
    ("replicate", "repeat(text, n)"),
    ("safe_cast", "TRY_CAST(a AS type)"),
    ("safe_divide", "a / nullif(b, 0)"),
    ("size", "len(list)"),
    ("space", "repeat(' ', n)"),
    ("square", "a * a"),
    ("stdev", "stddev(a)"),
    ("stdevp", "stddev_pop(a)"),
    ("str_to_date", "strptime(text, format)"),
    ("stuff", "overlay(text PLACING new FROM first FOR length)"),
    ("sysdate", "now()"),
    ("timestampdiff", "date_diff('day', a, b)"),
    ("to_json_string", "to_json(a)::VARCHAR"),
    ("unix_timestamp", "epoch(t)"),
    ("var", "variance(a)"),
    ("varp", "var_pop(a)"),
    ("zeroifnull", "coalesce(a, 0)"),
];

/// What to write in the place of another system's function.
pub(super) fn own_form(name: &str) -> Option<&'static str> {
    FOREIGN.iter().find(|(foreign, _)| foreign.eq_ignore_ascii_case(name)).map(|(_, own)| *own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_functions::registry::function_names;

    #[test]
    fn foreign_names_are_not_ours() {
        for (foreign, own) in FOREIGN {
            assert!(!function_names().any(|known| known == foreign), "{foreign}");
            assert!(own_form(&foreign.to_uppercase()) == Some(own), "{foreign}");
        }
    }
}
