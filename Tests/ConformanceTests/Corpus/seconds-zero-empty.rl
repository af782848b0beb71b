topic seconds
title Zero seconds in an empty mode is FINISHED
run default 0 no
run default -1 yes
--- golden
run default
ran default FINISHED
run default
ran default FINISHED
end
