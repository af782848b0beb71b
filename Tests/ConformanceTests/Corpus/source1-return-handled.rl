topic source1
title A port counts as a handled source
slow 2
trace callouts
source1 P
at 40: write P
add P default
run default 2 yes
--- golden
run default
source1 P mode=default
ran default HANDLED
end
