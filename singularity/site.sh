# shellcheck shell=bash
# Your site's settings: site.env beside this file, if it is there. Sourced, never run.

site_names=(PARTITION ACCOUNT QOS GRES MINUTES MEMORY_GB IMAGE BIND LOGIN)

# read_site FILE: set and export each WORKBOOK_NAME of the file that is not set yet. The file is
# read, not run; a line that is not understood ends the script with 2.
read_site() {
    local file=$1 line name number=0
    [[ -f $file ]] || return 0
    while IFS= read -r line || [[ -n $line ]]; do
        number=$((number + 1))
        [[ $line =~ ^[[:space:]]*(#.*)?$ ]] && continue
        name=${line%%=*}
        if [[ $line != WORKBOOK_*=* || " ${site_names[*]} " != *" ${name#WORKBOOK_} "* ]]; then
            echo "$file, line $number: '$line' is no setting; known: ${site_names[*]/#/WORKBOOK_}" >&2
            exit 2
        fi
        if [[ ${line#*=} == *[\"\'\$\\]* ]]; then
            echo "$file, line $number: the value of $name is taken as it is; no quotes, no \$, no \\." >&2
            exit 2
        fi
        [[ -n ${!name+set} ]] || export "$name=${line#*=}"
    done <"$file"
    for name in MINUTES MEMORY_GB; do
        name=WORKBOOK_$name
        [[ ${!name:-1} =~ ^[1-9][0-9]*$ ]] && continue
        echo "$name is '${!name}'; write a whole number." >&2
        exit 2
    done
}
